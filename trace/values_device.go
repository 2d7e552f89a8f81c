package trace

// DevicePluginOp is a change of a device plugin.
type DevicePluginOp string

// The changes of device plugins.
const (
	PluginRegistered DevicePluginOp = "registered" // the plugin is connected
	PluginRefused    DevicePluginOp = "refused"    // its registration was refused
	PluginDevices    DevicePluginOp = "devices"    // the numbers of its devices changed
	PluginGone       DevicePluginOp = "gone"       // its connection ended: its devices are not allocated any more
	PluginRemoved    DevicePluginOp = "removed"    // none registered for five minutes: the node has none of the resource
	PluginListed     DevicePluginOp = "listed"     // another kubelet lists its healthy devices; its plugin and the unhealthy ones are not known
)

// DeviceOutcome is what became of a container's request for devices.
type DeviceOutcome string

// The outcomes.
const (
	DevicesAllocated DeviceOutcome = "allocated" // the plugin allocated them
	DevicesKept      DeviceOutcome = "kept"      // the container already had them, from an earlier agent, or before an observer looked
	DevicesRefused   DeviceOutcome = "refused"   // there are too few, or the plugin failed
	DevicesPrepared  DeviceOutcome = "prepared"  // the plugin was called before the container is created
	DevicesReleased  DeviceOutcome = "released"  // another kubelet does not list them for the container any more
)
