// Package dra gives pods the devices of their ResourceClaims (Dynamic Resource Allocation).
//
// It owns which claims are prepared on this node and for which pods, and the health of their devices, and keeps that in upstream's state
// files, so that either agent can continue the other's work. Package driver has the connections to the drivers, package checkpoint the files. It never allocates a claim:
// the scheduler does. It never writes a claim.
//
// A pod's worker calls [Manager.Prepare] before the pod's sandbox is created: a driver may provide the sandbox's network. The claims are
// read from the API, checked, recorded with the pod in the state file, and then prepared by their drivers, all drivers at the same time.
// When nothing of the pod runs any more, and before its final status is written, the worker calls [Manager.Unprepare]. A claim that
// several pods of the node use is prepared once, and unprepared after the last one. Calls about one claim never overlap; a pod that needs
// a claim about which a driver is being called waits for that, and holds no claim meanwhile.
//
//	          recorded for a pod        all drivers answered         another pod
//	(absent) ────────────────────▶ new ──────────────────────▶ prepared ─────────▶ (shared)
//	   ▲                            │                             │
//	   └────────── all drivers answered, after the last pod ──────┘
//
// A claim that is read from the state file is new again: if its pod gets another sandbox, the drivers are asked once more, as upstream
// asks them.
//
// Goroutines: Run has five. They follow drivers, unprepare every minute what pods that are gone have left (with at most 8 calls of each
// driver at the same time), describe claims when there is time, notice when the health of devices is too old, and save that health. Each
// pod that is gone has one while its claims are unprepared; each call of Prepare and Unprepare has one for each driver.
//
// It publishes ResourceClaim, ClaimDescribed, Log and Wait; package driver publishes DRAPlugin.
//
// Upstream: pkg/kubelet/cm/dra.
package dra
