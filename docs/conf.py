"""The documentation site: Sphinx, MyST-NB and furo. Built by `make docs`."""

import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent)]

project = "vegasfluid"
author = "The vegasfluid developers"
project_copyright = author
release = version = tomllib.loads((HERE.parent / "pyproject.toml").read_text())["project"][
    "version"
]

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",
    "sphinx_copybutton",
    "sphinx_design",
    # our own, in _ext
    "plain_types",
    "law_pages",
    "window_pictures",
    "api_pages",
    "command_options",
    "benchmark_tables",
    "agreement_plots",
    "work_precision_plots",
    "gallery",
    "explore_page",
    "paper_pages",
    "references",
    "notebook_pages",
]
exclude_patterns = ["_explore", "_ext", "_pictures", "_static"]
nitpicky = True
default_role = "code"  # of docstrings: what stands in single backticks

# Pages are MyST; notebooks come executed (`make notebooks`), and are shown as they are.
myst_enable_extensions = ["attrs_block", "attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "off"
nb_ipywidgets_js = {}  # those would be fetched; see _ext/notebook_pages.py
nb_output_stderr = "remove"
nb_merge_streams = True

# Formulas: MathJax comes with the site, and loads nothing more.
mathjax3_config = {
    "loader": {"load": []},
    "options": {"enableMenu": False, "enableExplorer": False},
}

# The API, from docstrings (Google style) and annotations.
autodoc_member_order = "bysource"
add_module_names = False  # a page is of one module
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 88
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_rtype = False

# No inventory of another project can be downloaded where this is built, so types of others
# cannot be linked. Of our own, only what no public signature should name stands here.
nitpick_ignore_regex = [
    # the standard library and the packages that signatures name
    (r"py:.*", r"(abc|collections|fractions|pathlib|datetime|typing|enum|os)\..+"),
    (
        r"py:.*",
        r"(numpy|np|jax|jaxlib|jaxtyping|diffrax|equinox|sympy|flint|xarray|xr)\..+",
    ),
    (r"py:.*", r"(matplotlib|pandas|zarr|dask|distributed)\..+"),
    # their classes as our sources import them, where an annotation is not evaluated
    (r"py:class", r"Array|ArrayLike|Axes|Bool|Figure|Float|Int32|PyTree|Gt|arb|float64|ndarray"),
    # what numpy.typing.ArrayLike and type aliases are made of
    (r"py:class", r"_NestedSequence|_SupportsArray|_Buffer|_(CallableGeneric|Annotated)Alias"),
    # type variables and aliases of Any, private to a module
    (r"py:class", r"Real|Expression|Bound|Rate|vegasfluid\.discovery\.Kind"),
    # the values of a host, which `vegasfluid check` and the page of model files show
    (r"py:class", r"Host|HostName|vegasfluid\.network\.hosts\..+"),
    # what `explore` makes an Explorer of
    (r"py:class", r"vegasfluid\.plot\.alpha_beta_plane\.Plane"),
    # what internal types are made of in turn: inside the delay solver, the proofs, the analysis
    (r"py:class", r"vegasfluid\.dde\.(adaptive|fixed|solution)\..+"),
    (r"py:class", r"vegasfluid\.analysis\.(proofs|linear_stability|equilibria)\..+"),
    (r"py:class", r"vegasfluid\.fluid\..+"),
    (r"py:class", r"vegasfluid\.tuning\..+"),
    (r"py:class", r"vegasfluid\.metric_formulas\.IntervalTotals"),
    # the same, where an annotation gives the class alone
    (r"py:class", r"ActiveInterval|BoundValue|CompensatedTime|Curve|DelaySystem|EvaluationPoint"),
    (r"py:class", r"FlowGroup|FluidOptimum|Grid|IntervalTotals|LinkEquilibrium|Resolution|Ring"),
    (r"py:class", r"Robustness|Save|Start|Track|Unknowns|Zero"),
]

html_theme = "furo"
html_title = "vegasfluid"
html_static_path = ["_static"]
html_extra_path = ["_explore"]
html_css_files = ["site.css"]
html_logo = html_favicon = "_static/mark.svg"
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "navigation_with_keys": True,
    "light_css_variables": {"color-brand-primary": "#0072B2", "color-brand-content": "#0072B2"},
    "dark_css_variables": {"color-brand-primary": "#56B4E9", "color-brand-content": "#56B4E9"},
}
copybutton_prompt_text = "$ "
