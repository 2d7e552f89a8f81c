package say

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
	"github.com/kubeloupe/kubeloupe/trace/say/noise"
)

// On returns the target of a wait: "readiness probe of web".
func On(w *trace.Wait) string { return noise.Of(on(w)) }

func on(w *trace.Wait) string {
	if len(w.More) > 0 && w.Target.Kind == trace.TargetContainer {
		names := []string{w.Target.Name}
		for _, h := range w.More {
			names = append(names, h.Name)
		}
		return "the retry of containers " + strings.Join(names, ", ")
	}
	if w.Target.Kind == trace.TargetContainer {
		switch {
		case w.For == trace.WaitGrace:
			return target(w.Target) + " to exit"
		case w.Reason == "CrashLoopBackOff":
			return "the restart of " + target(w.Target)
		}
		return "the retry of " + target(w.Target)
	}
	if w.Target.Kind == trace.TargetRetry && w.Cause != "" {
		return "the retry after an error"
	}
	if w.Target.Kind == trace.TargetDelay && w.Limit > 0 {
		return "a delay of " + w.Limit.String()
	}
	if w.Target.Kind == trace.TargetPods {
		return fmt.Sprintf("%d preempted pods to terminate", w.Ahead)
	}
	if w.Target.Kind == trace.TargetStatuses && w.For == trace.WaitQueue {
		return "writes of other pods' statuses"
	}
	if w.Target.Kind == trace.TargetEvents && w.For == trace.WaitTokens {
		return "events to the API server"
	}
	return target(w.Target)
}

// Waits returns the kind and target of a wait: "queue for container runtime", "readiness probe of web".
func Waits(w *trace.Wait) string { return noise.Of(waits(w, " for ", "an unknown target")) }

// Waiting is [Waits] in a few words, for a label: "queue container runtime".
func Waiting(w *trace.Wait) string { return noise.Of(strings.TrimSpace(waits(w, " ", ""))) }

// waits omits the kind if the target's name contains it.
func waits(w *trace.Wait, between, unknown string) string {
	kind, on := string(w.For), cmp.Or(on(w), unknown)
	if strings.Contains(" "+on+" ", " "+kind+" ") {
		return on
	}
	return kind + between + on
}

// Wait describes a wait without its duration: "wait queue container runtime: 3 of 3 slots busy, 7 in the queue". It
// began at that time, in Unix nanoseconds.
func Wait(w *trace.Wait, began int64) string {
	said := "wait " + waits(w, " ", "")
	if more := detail(w, began); more != "" {
		said += ": " + more
	}
	return noise.Of(said)
}

// WaitsFor returns a wait with its duration: "waits 3.20s for container runtime (queue)".
func WaitsFor(w *trace.Wait, took time.Duration) string {
	return noise.Of("waits " + human.Duration(max(took, 0)) + waitsFor(w))
}

func waitsFor(w *trace.Wait) string {
	return fmt.Sprintf(" for %s (%s)", cmp.Or(on(w), "an unknown target"), w.For)
}

// Target returns a target in words: "volume data", "secret shop/keys".
func Target(t trace.Target) string { return noise.Of(target(t)) }

func target(t trace.Target) string {
	object := t.Name
	if t.Namespace != "" {
		object = t.Namespace + "/" + t.Name
	}
	switch t.Kind {
	case trace.TargetPods:
		return "preempted pods to terminate"
	case trace.TargetEvicted:
		return "an evicted pod to terminate"
	case trace.TargetEarlierPod:
		return "removal of the earlier pod of this name"
	case trace.TargetLeftovers:
		return "cleanup of an earlier instance of the pod"
	case trace.TargetContainer:
		return "container " + t.Name
	case trace.TargetInitContainer:
		return "init container " + t.Name
	case trace.TargetProbe:
		return t.Name + " probe of " + t.Container
	case trace.TargetHook:
		if t.Name == "" {
			return "hook of " + t.Container
		}
		return "the " + t.Name + " hook of container " + t.Container
	case trace.TargetLog:
		return "the end of a log that the status shows"
	case trace.TargetRetry:
		return "the retry"
	case trace.TargetPerson:
		return "the person who steps"
	case trace.TargetDelay:
		return "a delay"
	case trace.TargetImage, trace.TargetProvider, trace.TargetAddress, trace.TargetOther:
		return t.Name
	case trace.TargetPulls:
		return "a pull slot"
	case trace.TargetRegistry:
		return "registryPullQPS"
	case trace.TargetVolume:
		return "volume " + t.Name
	case trace.TargetClaim:
		return "claim of volume " + t.Name
	case trace.TargetDriver:
		return "CSI driver " + t.Name
	case trace.TargetDevicePlugin:
		return "the device plugin of " + t.Name
	case trace.TargetDRADriver:
		return "DRA driver " + t.Name
	case trace.TargetResourceClaim:
		return "ResourceClaim " + object
	case trace.TargetPLEG:
		return "the PLEG"
	case trace.TargetVolumeManager:
		return "the volume manager"
	case trace.TargetVolumeSlots:
		return "volume operations"
	case trace.TargetRuntime:
		return "the container runtime"
	case trace.TargetRuntimeSlots:
		return "container runtime"
	case trace.TargetStepSlot:
		return "the slot that another action of the pod waits for"
	case trace.TargetLatestAction:
		return "the runtime's event about the latest action"
	case trace.TargetNetwork:
		return "the pod network"
	case trace.TargetConfigMap, trace.TargetSecret:
		return string(t.Kind) + " " + object
	case trace.TargetToken:
		return "token of " + object
	case trace.TargetServiceAccount:
		return "service account " + object
	case trace.TargetRuntimeClass:
		return "RuntimeClass " + t.Name
	case trace.TargetPodCertificate:
		return "certificate for volume " + t.Name
	case trace.TargetList:
		return "the first list of " + t.Name
	case trace.TargetRequest:
		return "signing request " + t.Name
	case trace.TargetCertificate:
		return t.Name + " certificate"
	case trace.TargetClient:
		return "client throttling"
	case trace.TargetRetryAfter:
		return "the API server's Retry-After"
	case trace.TargetEvents:
		return "the API server, to accept events"
	case trace.TargetStatuses:
		return "the API server, to accept statuses"
	case trace.TargetStatus:
		return "the API server, to accept the pod's status"
	case trace.TargetMirrorPods:
		return "the API server, to accept mirror pods"
	case trace.TargetWatch:
		return "the API server, to watch pods"
	case trace.TargetLease:
		return "lease of the node"
	case trace.TargetRegistration:
		return "registration of the node"
	case trace.TargetNodeStatus:
		return "status of the node"
	case trace.TargetLockFile:
		return "--lock-file " + t.Name
	}
	return object
}

// Detail returns further data of a wait that began at that time, in Unix nanoseconds; "" if there is none.
func Detail(w *trace.Wait, began int64) string { return noise.Of(detail(w, began)) }

func detail(w *trace.Wait, began int64) string {
	if w.Note != "" {
		return w.Note
	}
	again := ""
	if d := time.Duration(w.Until - began); w.Until > 0 && began > 0 && d > 0 {
		again = d.Round(time.Millisecond).String()
	}
	switch {
	case w.Size > 0 && w.Busy == 0:
		return fmt.Sprintf("%d at a time", w.Size)
	case w.Size > 0 && w.Large:
		return fmt.Sprintf("%d of %d slots busy, %d in the queue; large work has one slot when the others are free", w.Busy, w.Size, w.Ahead)
	case w.Size > 0:
		return fmt.Sprintf("%d of %d slots busy, %d in the queue", w.Busy, w.Size, w.Ahead)
	case w.Every > 0 && w.Target.Kind == trace.TargetClient:
		return fmt.Sprintf("the %s client may send %.3g requests per second, %d at once", w.Target.Name, float64(time.Second)/float64(w.Every), w.Burst)
	case w.Target.Kind == trace.TargetRetryAfter && again != "":
		return w.Target.Name + ": " + w.Cause + ", retry in " + again
	case w.For == trace.WaitPoll && w.Every > 0:
		return "polled every " + w.Every.String()
	case w.Every > 0:
		return fmt.Sprintf("%.3g per second, %d at once", float64(time.Second)/float64(w.Every), w.Burst)
	case w.Target.Kind == trace.TargetDelay:
		return ""
	case w.For == trace.WaitGrace:
		return fmt.Sprintf("at most %d s", int64(w.Limit/time.Second))
	case w.Doing != "":
		return w.Doing + " of the same volume is in progress"
	case w.For == trace.WaitProbe && again != "":
		return "the next attempt is in " + again
	case w.For == trace.WaitOtherPull && w.Target.Kind == trace.TargetImage:
		return "another pod pulls this image already"
	case w.For == trace.WaitCredentials:
		return w.Target.Namespace
	case w.For == trace.WaitPod && w.Target.Kind == trace.TargetEarlierPod:
		return "only one pod of a name may run"
	case w.For == trace.WaitApproval:
		return "kubectl certificate approve " + w.Target.Name
	}
	if len(w.More) > 0 {
		said := w.Target.Name + ": " + w.Reason
		for _, h := range w.More {
			said += ", " + h.Name + ": " + h.Reason
		}
		return said
	}
	said := cmp.Or(w.Reason, w.Cause)
	if w.Reason != "" && w.Cause != "" {
		said = w.Reason + ": " + w.Cause
	}
	if w.For != trace.WaitBackoff || w.Target.Kind == trace.TargetContainer || w.Target.Kind == trace.TargetRetry {
		return said
	}
	next := ""
	switch {
	case w.Tries > 0 && again != "":
		next = fmt.Sprintf("%d attempts failed, next in %s", w.Tries, again)
	case w.Tries > 0:
		next = fmt.Sprintf("%d attempts failed", w.Tries)
	case again != "":
		next = "next attempt in " + again
	}
	return strings.Trim(next+": "+said, ": ")
}
