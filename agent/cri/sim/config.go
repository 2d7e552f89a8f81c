package sim

import (
	"fmt"
	"os"
	"slices"
	"time"
)

// Config describes a simulated runtime. The zero value works: default latencies, no known images.
type Config struct {
	// Latency is the time that each CRI method takes, by its name, such as "RunPodSandbox". Nil means DefaultLatency;
	// otherwise methods that are missing take no time.
	Latency map[string]Latency
	// Images is the registry: the images that can be pulled. An image with Present is on the node from the start.
	Images []Image
	// AnyImage is a template for images that Images does not list. Nil makes pulling them fail with NotFound.
	AnyImage *Image
	// PullBandwidth is the speed of one pull in bytes per second. 0 means 16 MiB/s, a negative value means no limit.
	PullBandwidth int64
	// RuntimeHandlers are the names that RuntimeClasses may use, in addition to the default "". Nil means "runc".
	RuntimeHandlers []string
	// ImageFSPath is reported as the mount point of the image file system. The default is the directory for temporary files.
	ImageFSPath string
	// Seed makes IDs and jitter reproducible. 0 means a random one.
	Seed uint64
	// Version is reported as the runtime's version. The default is "simulated".
	Version string
}

// Latency is how long a method takes: Fixed plus or minus up to Jitter, evenly distributed.
type Latency struct {
	Fixed, Jitter time.Duration
}

// DefaultPullBandwidth is the default speed of a pull in bytes per second.
const DefaultPullBandwidth = 16 << 20

// DefaultLatency returns the figures of containerd 2 with runc on an idle two-core machine, in a map that the caller
// owns. StopContainer's latency is added to the time that the container takes to exit.
func DefaultLatency() map[string]Latency {
	ms := time.Millisecond
	m := map[string]Latency{
		"RunPodSandbox":    {100 * ms, 20 * ms},
		"StopPodSandbox":   {40 * ms, 8 * ms},
		"RemovePodSandbox": {10 * ms, 2 * ms},
		"CreateContainer":  {20 * ms, 4 * ms},
		"StartContainer":   {30 * ms, 6 * ms},
		"StopContainer":    {15 * ms, 3 * ms},
		"RemoveContainer":  {10 * ms, 2 * ms},
		"ExecSync":         {20 * ms, 4 * ms},
		"PullImage":        {50 * ms, 10 * ms},
		"RemoveImage":      {10 * ms, 2 * ms},
	}
	for _, method := range []string{
		"Version", "Status", "RuntimeConfig", "ListPodSandbox", "PodSandboxStatus", "ListContainers", "ContainerStatus",
		"ListImages", "ImageStatus", "ImageFsInfo", "ContainerStats", "ListContainerStats", "PodSandboxStats",
		"ListPodSandboxStats", "UpdateContainerResources", "UpdatePodSandboxResources", "ReopenContainerLog",
	} {
		m[method] = Latency{Fixed: ms}
	}
	return m
}

// methods are the methods that latencies and faults can name.
var methods = []string{ //nolint:gochecknoglobals // a constant table
	"Version", "RunPodSandbox", "StopPodSandbox", "RemovePodSandbox", "PodSandboxStatus", "ListPodSandbox",
	"StreamPodSandboxes", "CreateContainer", "StartContainer", "StopContainer", "RemoveContainer", "ListContainers",
	"StreamContainers", "ContainerStatus", "UpdateContainerResources", "ReopenContainerLog", "ExecSync",
	"ContainerStats", "ListContainerStats", "StreamContainerStats", "PodSandboxStats", "ListPodSandboxStats",
	"StreamPodSandboxStats", "UpdateRuntimeConfig", "Status", "GetContainerEvents", "RuntimeConfig",
	"UpdatePodSandboxResources", "ListImages", "StreamImages", "ImageStatus", "PullImage", "RemoveImage", "ImageFsInfo",
}

func checkMethod(field, name string) error {
	if !slices.Contains(methods, name) {
		return fmt.Errorf("%s: %q is not a CRI method that the simulated runtime has, such as RunPodSandbox", field, name)
	}
	return nil
}

func (c *Config) complete() error {
	for name, l := range c.Latency {
		if err := checkMethod("latency", name); err != nil {
			return err
		}
		if l.Fixed < 0 || l.Jitter < 0 {
			return fmt.Errorf("latency[%s]: %v ± %v: want no negative duration", name, l.Fixed, l.Jitter)
		}
	}
	if c.Latency == nil {
		c.Latency = DefaultLatency()
	}
	if c.PullBandwidth == 0 {
		c.PullBandwidth = DefaultPullBandwidth
	}
	if c.RuntimeHandlers == nil {
		c.RuntimeHandlers = []string{"runc"}
	}
	if c.ImageFSPath == "" {
		c.ImageFSPath = os.TempDir()
	}
	if c.Version == "" {
		c.Version = "simulated"
	}
	return nil
}
