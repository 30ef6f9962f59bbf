from .axes import Choice as Choice
from .axes import Numbers as Numbers
from .plan import Sweep as Sweep
from .runner import Progress as Progress
from .runner import open_sweep as open_sweep
from .runner import run as run
from .store import StoreFailed as StoreFailed
