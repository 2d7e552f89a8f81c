// Package objcache keeps the ConfigMaps and Secrets that pods of this node refer to, the
// cluster's services and its trust bundles.
//
// It decides which objects are kept: only those of registered pods, until the last such pod is unregistered. An object is fetched
// when a pod that needs it is registered, by one GET with quorum; later requests find it in the cache or wait for that GET. An
// object that a volume shows is then watched, one watch per object, so that the volume is updated immediately. An object that only
// an environment or a pull needs is requested again when it is needed. An immutable object is not watched. While the API server is
// unreachable, the last known version is returned. It never writes, and never lists a namespace's objects: nodes may not.
//
// Goroutines: Run is the informer of services; each fetch and each watch in progress has one, and so has the informer of trust
// bundles once a pod needs one.
//
// It publishes Wait begin/end of kind object if a pod waits for a fetch, and of kind backoff while the API server does not know yet
// that the node may read an object.
//
//	           Register                  answered; a volume shows it
//	(unknown) ──────────▶ fetching ─────────────────────────────────▶ watched
//	    ▲                    ▲ │ answered                                │ immutable,
//	    │                    │ └──────────▶ known ◀──────────────────────┘ watch lost
//	    │      asked again   │                │ │
//	    │                    └────────────────┘ │ last pod unregistered
//	    └───────────────────────────────────────┘
//
// Upstream: pkg/kubelet/util/manager/watch_based_manager.go, pkg/kubelet/clustertrustbundle.
package objcache
