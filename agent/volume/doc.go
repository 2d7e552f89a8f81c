// Package volume sets up the volumes of pods on the node and tears them down again.
//
// It owns the desired state (from Mount and Unmount), the actual state (from successful operations and, after a restart, from the
// pods' directories), the plan between the two, and the rule that a volume has one operation at a time. A [Plugin] implements the
// operations, one package each below this one. It also knows which of a pod's volumes are claims, and writes the messages about
// volumes that cannot be mounted; agent/volume/claim resolves claims.
//
// It never tears down a volume of an unknown pod, never removes data behind a mount, and does not poll: it handles a change of the
// desired state immediately; the reconciler's period is only a safety net.
//
// Goroutines: Run is the reconciler, with one more that checks claims once per minute while pods have any; each operation in
// progress has one, and a limited number of these work at the same time.
//
// It publishes Volume begin/end around each operation, Wait begin/end while a pod waits (for a queue, a back-off, another operation
// on the same volume, a claim, the node's status, or another pod that has the volume with another SELinux label), and a Decision for
// each such label and for each directory of an unknown pod. Kubernetes Events go through [Events].
//
// A mounted volume is set up again when its content has changed (Refresh), when its plugin requests it (Refresher), or when it must
// be expanded. The pod keeps the volume in the meantime, and also if the operation fails.
//
//	           Mount                       done
//	(absent) ─────────▶ setup ──────────────────────────▶ mounted
//	                     ▲ │ error: back-off                │  │ Mount of a changed pod
//	    Mount: adopt     │ └──────┐                         │  └──▶ setup
//	found on disk ───────┘        ▼                         │
//	    │                      failed ──────┐ Unmount       │ Unmount
//	    │ Unmount, CleanOrphans             ▼               ▼
//	    └─────────────────────────────▶ teardown ◀──────────┘
//	                                       │ done: (absent)
//
// After the last pod of a volume that pods share, the volume is unmounted from the node, too. If that fails, the pod has no volume any more, the
// volume is in use ([Manager.InUse]), and the manager tries again with back-off.
//
// Before it reports a volume as mounted, it checks the volume (Ready, Mount): if others have removed its directory, mount or files,
// it is set up again.
//
// Upstream: pkg/kubelet/volumemanager.
package volume
