package kubeletlog

import (
	"strings"

	"github.com/kubeloupe/kubeloupe/inspect/attach/internal/pattern"

	"github.com/kubeloupe/kubeloupe/inspect/attach/klog"
)

// Kubelets before Kubernetes 1.21 wrote text without keys; a few messages were so until 1.25. old are those forms with the message that
// says the same today, and the keys in the order of the groups.
var old = []struct {
	begins string
	text   *pattern.Pattern
	msg    string
	keys   []string
}{
	{`SyncLoop (PLEG): "`, pattern.New(`^SyncLoop \(PLEG\): "([^"]+)", event: (.+)`), "SyncLoop (PLEG): event for pod", []string{"pod", "event"}},
	{`SyncLoop (`, pattern.New(`^SyncLoop \((ADD|UPDATE|REMOVE|DELETE|RECONCILE), "([a-z]{1,10})"\): "(.*)"`), "", []string{"op", "source", "pods"}},
	{`Error syncing pod `, pattern.New(`(?s)^Error syncing pod ([-0-9a-f]{8,64})(?: \("?([^" ]+?)"?\))?, skipping: (.*)`), "Error syncing pod, skipping", []string{"podUID", "pod", "err"}}, // before 1.6 without the name
	{`No sandbox for pod "`, pattern.New(`^No sandbox for pod "([^"]+)" can be found`), "No sandbox for pod can be found. Need to start a new one", []string{"pod"}},
	{`No ready sandbox for pod "`, pattern.New(`^No ready sandbox for pod "([^"]+)" can be found`), "No ready sandbox for pod can be found. Need to start a new one", []string{"pod"}},
	{`Sandbox for pod "`, pattern.New(`^Sandbox for pod "([^"]+)" has changed`), "Sandbox for pod has changed. Need to start a new one", []string{"pod"}},
	{`Sandbox for pod "`, pattern.New(`^Sandbox for pod "([^"]+)" has no IP address`), "Sandbox for pod has no IP address. Need to start a new one", []string{"pod"}},
	{`CreatePodSandbox for pod "`, pattern.New(`(?s)^CreatePodSandbox for pod "([^"]+)" failed: (.*)`), "CreatePodSandbox for pod failed", []string{"pod", "err"}},
	{`killPodWithSyncResult failed: `, pattern.New(`(?s)^(killPodWithSyncResult failed): (.*)`), "killPodWithSyncResult failed", []string{"text", "err"}},
	{`Container runtime network not ready: `, pattern.New(`(?s)^Container runtime network not ready: (.*)`), "Container runtime network not ready", []string{"networkReady"}},
	{`Container runtime sanity check failed: `, pattern.New(`(?s)^Container runtime sanity check failed: (.*)`), "Container runtime sanity check failed", []string{"err"}},
	{`skipping pod synchronization - `, pattern.New(`(?s)^skipping pod synchronization - (.*)`), "Skipping pod synchronization", []string{"err"}},
	{`GenericPLEG: Unable to retrieve pods: `, pattern.New(`(?s)^GenericPLEG: Unable to retrieve pods: (.*)`), "GenericPLEG: Unable to retrieve pods", []string{"err"}},
	{`Unable to `, pattern.New(`(?s)^Unable to (?:attach or )?mount volumes for pod "([^"]+)": (.*?)(?:; skipping pod)?$`), "Unable to attach or mount volumes for pod; skipping pod", []string{"pod", "err"}},
	{`Readiness probe for "`, pattern.New(`(?s)^Readiness probe for "([^":]+):([a-z0-9][-a-z0-9]*)" failed \(failure\): (.*)`), "Probe failed", []string{"pod", "containerName", "output", "probeType=Readiness"}},
	{`Liveness probe for "`, pattern.New(`(?s)^Liveness probe for "([^":]+):([a-z0-9][-a-z0-9]*)" failed \(failure\): (.*)`), "Probe failed", []string{"pod", "containerName", "output", "probeType=Liveness"}},
	{`Startup probe for "`, pattern.New(`(?s)^Startup probe for "([^":]+):([a-z0-9][-a-z0-9]*)" failed \(failure\): (.*)`), "Probe failed", []string{"pod", "containerName", "output", "probeType=Startup"}},
	{`Event(v1.ObjectReference{`, pattern.New(`(?s)^Event\(v1\.ObjectReference\{Kind:"(Pod)", Namespace:"([^"]*)", Name:"([^"]*)", UID:"([^"]*)", .*?FieldPath:"([^"]*)"\}\): type: '([A-Za-z]+)' reason: '([A-Za-z]+)' (.*)`), "Event occurred", []string{"kind", "ns", "object", "uid", "fieldPath", "type", "reason", "message"}},
	{`eviction manager: must evict pod(s) to reclaim `, pattern.New(`^eviction manager: must evict pod\(s\) to reclaim ([a-z-]{1,40})`), "Eviction manager: must evict pod(s) to reclaim", []string{"resourceName"}},
	{`Failed to admit pod `, pattern.New(`^Failed to admit pod (\S+) - node has conditions: (\[.*\])`), "Failed to admit pod to node", []string{"pod", "nodeCondition"}},
	{`eviction manager: pod `, pattern.New(`^eviction manager: pod (\S+) is evicted successfully`), "Eviction manager: pod is evicted successfully", []string{"pod"}},
	{`Node became not ready: {`, pattern.New(`(?s)^Node became not ready: \{.* Reason:KubeletNotReady Message:(.*)\}$`), "Node became not ready", []string{"message"}},
	{`Removing image "`, pattern.New(`\[imageGCManager\]: Removing image "([^"]+)" to free`), "Removing image to free bytes", []string{"imageID"}},
	{`Starting kubelet main sync loop`, pattern.New(`^(Starting kubelet main sync loop)`), "Starting kubelet main sync loop", []string{"text"}},
}

// modern writes an entry of an old kubelet as today's.
func modern(e *klog.Entry) {
	if e.Msg == "Event occurred" && strings.Contains(e.Get("object"), "/") && e.Get("kind") == "" { // from 1.21 to 1.22
		e.Fields = append(e.Fields, klog.Field{Key: "kind", Value: "Pod"})
	}
	if !e.Free {
		return
	}
	if text := e.Msg; !modernText(e) && strings.IndexByte(text, '\n') >= 0 {
		// A terminal may have folded it at its width.
		if e.Msg = strings.ReplaceAll(text, "\n", ""); !modernText(e) {
			e.Msg = text
		}
	}
}

// modernText is modern of free text; it reports whether it is one of the old forms.
func modernText(e *klog.Entry) bool {
	for i := range old {
		o := &old[i]
		if !strings.HasPrefix(e.Msg, o.begins) {
			continue
		}
		m := o.text.FindStringSubmatch(e.Msg)
		if m == nil {
			continue
		}
		text := e.Msg
		e.Msg = o.msg
		for n, key := range o.keys {
			if k, v, fixed := strings.Cut(key, "="); fixed {
				e.Fields = append(e.Fields, klog.Field{Key: k, Value: v})
				continue
			}
			if key != "err" && key != "output" { // else a terminal folded it
				m[n+1] = strings.ReplaceAll(m[n+1], "\n", "")
			}
			if m[n+1] != "" {
				e.Fields = append(e.Fields, klog.Field{Key: key, Value: m[n+1]})
			}
		}
		switch {
		case o.msg == "":
			e.Msg = "SyncLoop " + m[1]
			list := ""
			if m[3] != "" {
				list = strings.ReplaceAll(m[3], ", ", " ")
			}
			e.Fields = []klog.Field{{Key: "source", Value: m[2]}, {Key: "pods", Value: "[" + list + "]"}}
		case o.msg == "Event occurred":
			for n := range e.Fields {
				if e.Fields[n].Key == "object" {
					e.Fields[n].Value = m[2] + "/" + m[3]
				}
			}
		case o.msg == "Starting kubelet main sync loop":
			e.Msg, e.Fields = o.msg, []klog.Field{{Key: "text", Value: text}}
		}
		return true
	}
	return false
}
