package config

// Endpoints are the paths of the authenticated port that exist only with a setting.
type Endpoints struct {
	// Debugging is enableDebuggingHandlers. The others need it, too.
	Debugging bool
	// Allocated, Checkpoint, Flagz and Statusz are the feature gates of /allocatedPods, /checkpoint, /flagz and /statusz.
	Allocated, Checkpoint, Flagz, Statusz bool
}

// Endpoints returns which of these paths the configuration has.
func (c *Config) Endpoints() Endpoints {
	return Endpoints{
		Debugging: *c.Kubelet.EnableDebuggingHandlers,
		Allocated: c.Gates.Enabled("KubeletAllocatedPodsEndpoint"), Checkpoint: c.Gates.Enabled("ContainerCheckpoint"),
		Flagz: c.Gates.Enabled("ComponentFlagz"), Statusz: c.Gates.Enabled("ComponentStatusz"),
	}
}
