// Package driver has the connections to the plugins of DRA drivers on this node.
//
// It owns the registrations, of which a driver may have several (during an update, or for the versions of its API), the connections,
// and the calls with their deadlines and limits. It removes no socket, and knows nothing of pods and claims.
//
//	          Register          connection made        30 s without a connection
//	(absent) ──────────▶ registered ────────▶ connected          │
//	    ▲                    ▲ │   ▲               │             ▼
//	    └──── Deregister ────┘ │   └── it breaks ───┘   the driver's ResourceSlices
//	                           └──────────────────────▶  of this node are deleted
//
// When it starts, it deletes the ResourceSlices of all drivers: none can be used before it registers, and one that does publishes
// them again.
//
// Goroutines: Run; one for each plugin, which follows its connection, and one for the health of its devices; one for each driver whose
// ResourceSlices are to be deleted.
//
// It publishes DRAPlugin.
//
// Upstream: pkg/kubelet/cm/dra/plugin.
package driver
