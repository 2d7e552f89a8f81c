package faultcorpus_test

// workloadFaults are faults of the pod's own: its probes, its containers, its configuration, its admission.
func workloadFaults() []fault { return nil }
