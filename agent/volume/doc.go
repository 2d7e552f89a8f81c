// Package volume gets the volumes of pods onto the node and off it again.
//
// It owns what is wanted (from Mount and Unmount), what is there (from what
// succeeded and, after a restart, from the pods' directories), the plan between
// the two, and the rule that a volume has one operation at a time. What an
// operation does is a [Plugin]'s, one package each below this one. It owns too which of a pod's volumes
// are claims, and what people are told about volumes that cannot be mounted; resolving claims is
// agent/volume/claim's.
//
// It never tears down a volume of a pod that it was not told about, never removes
// what is behind a mount, and never polls: a change of what is wanted is acted on
// at once; the reconciler's period is only a safety net.
//
// Goroutines: Run is the reconciler, with one more that looks at claims again once a minute while pods
// have any; each operation under way has one, a bounded number of which do work.
//
// It publishes Volume begin/end around each operation, Wait begin/end where
// nothing works for a pod (a queue, a back-off, another operation on the same
// volume, a claim or the node's status that is not there yet), and a Decision for
// each directory of an unknown pod. Kubernetes Events go through [Events].
//
// A mounted volume is set up again when what it shows has changed (Refresh), when its plugin says
// so (Refresher), or when it is to grow; its pod has it meanwhile, and keeps it if that fails.
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
// Before it says of a mounted volume that it is mounted, it looks (Ready, Mount): one whose directory, mount or files
// others have removed is set up again.
//
// Upstream: pkg/kubelet/volumemanager.
package volume
