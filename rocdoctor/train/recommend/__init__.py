"""Facts and a workload in, a training plan out."""
