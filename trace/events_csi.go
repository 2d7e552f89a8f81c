package trace

// CSICall is one call to a CSI driver.
type CSICall struct {
	// Driver is the driver's name, as hostpath.csi.k8s.io.
	Driver string `json:"driver"`
	// Method is the RPC's name, as NodeStageVolume.
	Method string `json:"method"`
	// Volume is the volume's handle, where the call is about one.
	Volume string `json:"volume,omitempty"`
	// Code is the gRPC code's name, set at the end: OK, NotFound, ...
	Code string `json:"code,omitempty"`
	Err  string `json:"err,omitempty" scrub:"text"`
	// Class is what sort of failure Err tells of.
	Class FailureClass `json:"class,omitempty"`
}

// VolumeProgress is how far a change to all files of a volume has come.
type VolumeProgress struct {
	// Op is what is changed.
	Op VolumeChange `json:"op"`
	// Path is the volume's directory.
	Path string `json:"path"`
	// Files is how many files were done; PerSecond how many of them in each second since the last.
	Files     int64 `json:"files"`
	PerSecond int64 `json:"per_second,omitempty"`
	// Done says that it is finished.
	Done bool `json:"done,omitempty"`
}
