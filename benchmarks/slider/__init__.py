"""The sliders of notebook 2 in a browser: JupyterLab, Chromium, and how soon a move is seen."""
