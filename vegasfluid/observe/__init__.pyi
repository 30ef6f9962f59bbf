from .errors import MeasurementFileError as MeasurementFileError
from .measurement import FlowSamples as FlowSamples
from .measurement import Measurement as Measurement
from .measurement import QueueSamples as QueueSamples
from .measurement import merge as merge
from .reading import read as read
from .reading import read_files as read_files
