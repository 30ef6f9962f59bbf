"""Net100's page on TCP Vegas, Oak Ridge National Laboratory, 2004."""
