// Package objcache keeps the ConfigMaps and Secrets that pods of this node refer to, the
// cluster's services and its trust bundles.
//
// It owns which objects are kept: those of registered pods and no others, dropped with the last
// pod. An object is fetched the moment a pod that needs it is registered, by one GET, which a
// quorum of etcd answers; whoever asks for it later finds it there or waits for that GET. What a
// volume shows is then watched, one watch per object, so that the volume can follow at once; what
// only an environment or a pull needs is requested again when it is needed. An immutable object
// is not watched. While the API server cannot be reached, what was known last is given out. It
// never writes, and never lists a namespace's objects: nodes may not.
//
// Goroutines: Run is the informer of services; each fetch and each watch under way has one, and
// so has the informer of trust bundles once a pod needs one.
//
// It publishes Wait begin/end of kind object where a pod waits for a fetch, and of kind backoff
// while the API server does not know yet that the node may read an object.
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
