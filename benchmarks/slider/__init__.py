"""Response time of notebook 2's sliders in a browser (JupyterLab and Chromium)."""
