package trace

// CSICall is one call to a CSI driver, or to a flexvolume driver, or a run of a program for a volume of iSCSI or Fibre Channel.
type CSICall struct {
	// Driver is the driver's name, such as hostpath.csi.k8s.io.
	Driver string `json:"driver"`
	// Flex says that it is a flexvolume driver: a program, which is run for each call.
	Flex bool `json:"flex,omitempty"`
	// Program says that Driver is a program of the node, such as iscsiadm.
	Program bool `json:"program,omitempty"`
	// Method is the RPC's name, such as NodeStageVolume, or the flexvolume driver's first argument, such as mount, or what a program is run for, such as login.
	Method string `json:"method"`
	// Volume is the volume's handle, if the call is about a volume; with a program or a flexvolume driver, the volume's name.
	Volume string `json:"volume,omitempty"`
	// Migrated is set for a call that sets up or expands a volume of a type that the driver has now.
	Migrated bool `json:"migrated,omitempty"`
	// Code is the gRPC code's name, set at the end: OK, NotFound, ... With a program or a flexvolume driver, it is OK or empty.
	Code string `json:"code,omitempty"`
	Err  string `json:"err,omitempty" scrub:"text"`
	// Class is the class of the failure in Err.
	Class FailureClass `json:"class,omitempty"`
}

// VolumeProgress is the progress of a change to all files of a volume.
type VolumeProgress struct {
	// Op is the change.
	Op VolumeChange `json:"op"`
	// Path is the volume's directory.
	Path string `json:"path"`
	// Files is the number of files that were changed; PerSecond is their number per second since the last such event.
	Files     int64 `json:"files"`
	PerSecond int64 `json:"per_second,omitempty"`
	// Done says that it is finished.
	Done bool `json:"done,omitempty"`
}
