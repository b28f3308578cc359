"""The data pipeline and the experiments with large overlays."""
