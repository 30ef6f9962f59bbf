"""E. Weigle and W. Feng, "A case for TCP Vegas in high-performance computational grids", 2001."""
