// Package device gives containers the devices that device plugins offer: GPUs, network functions, FPGAs.
//
// It owns the registration socket (ROOT/device-plugins/kubelet.sock), the connections to the plugins, the list of their devices, and
// which container has which of them, which it keeps in a checkpoint of upstream's format. It never opens a device, and never removes a
// plugin's socket, except at its start.
//
// A pod gets its devices in two steps, so that no plugin can hold up the agent. At admission, the topology manager asks the [Manager.Provider]
// for the NUMA nodes that have enough devices, and has it choose devices, without any call to a plugin; a pod for which there are too few
// is rejected. Allocate, in the pod's own worker, asks the plugin which devices it prefers, and
// to allocate them; nothing is locked meanwhile, and each call has a deadline. What the plugin answers becomes part of each
// container's request ([Manager.Container]). Upstream does both at admission.
//
//	           Register        ListAndWatch          the stream ends          5 min
//	(unknown) ─────────▶ registered ─────▶ healthy ───────────────▶ stopped ───────▶ removed
//	                                          ▲    another Register    │
//	                                          └────────────────────────┘
//
// Goroutines: Run serves registrations; each connected plugin has one that follows its list; one writes the checkpoint after changes
// of the list.
//
// It publishes DevicePlugin, DeviceAllocation and Wait, and Decision for pods that it rejects.
//
// Upstream: pkg/kubelet/cm/devicemanager.
package device
