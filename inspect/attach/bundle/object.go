package bundle

import (
	"cmp"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
)

// object is what matters of an Event or a pod.
type object struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Name      string    `json:"name"`
		Namespace string    `json:"namespace"`
		UID       string    `json:"uid"`
		Created   time.Time `json:"creationTimestamp"`
		Deleted   time.Time `json:"deletionTimestamp"`
	} `json:"metadata"`
	// Of Events.
	Involved  reference `json:"involvedObject"`
	Regarding reference `json:"regarding"`
	Type      string    `json:"type"`
	Reason    string    `json:"reason"`
	Message   string    `json:"message"`
	Note      string    `json:"note"`
	First     time.Time `json:"firstTimestamp"`
	Last      time.Time `json:"lastTimestamp"`
	When      time.Time `json:"eventTime"`
	// Of pods.
	Spec   podSpec   `json:"spec"`
	Status podStatus `json:"status"`
}

type reference struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
	FieldPath string `json:"fieldPath"`
}

type podSpec struct {
	Containers     []trace.ContainerSpec `json:"containers"`
	InitContainers []trace.ContainerSpec `json:"initContainers"`
	RestartPolicy  string                `json:"restartPolicy"`
	HostNetwork    bool                  `json:"hostNetwork"`
	Volumes        []struct {
		Name string `json:"name"`
	} `json:"volumes"`
}

type podStatus struct {
	Phase      string    `json:"phase"`
	Start      time.Time `json:"startTime"`
	QoS        string    `json:"qosClass"`
	Conditions []struct {
		Type   string    `json:"type"`
		Status string    `json:"status"`
		Since  time.Time `json:"lastTransitionTime"`
	} `json:"conditions"`
	Containers     []containerStatus `json:"containerStatuses"`
	InitContainers []containerStatus `json:"initContainerStatuses"`
}

type containerStatus struct {
	Name     string         `json:"name"`
	Ready    bool           `json:"ready"`
	Restarts int            `json:"restartCount"`
	ID       string         `json:"containerID"`
	Image    string         `json:"image"`
	State    containerState `json:"state"`
	Last     containerState `json:"lastState"`
}

type containerState struct {
	Waiting *struct {
		Reason  string `json:"reason"`
		Message string `json:"message"`
	} `json:"waiting"`
	Running *struct {
		Started time.Time `json:"startedAt"`
	} `json:"running"`
	Terminated *struct {
		Exit     int32     `json:"exitCode"`
		Reason   string    `json:"reason"`
		Started  time.Time `json:"startedAt"`
		Finished time.Time `json:"finishedAt"`
	} `json:"terminated"`
}

// field is where the value of a key goes; nil where it does not matter.
func (o *object) field(key any) any {
	switch key {
	case "kind":
		return &o.Kind
	case "metadata":
		return &o.Metadata
	case "involvedObject":
		return &o.Involved
	case "regarding":
		return &o.Regarding
	case "type":
		return &o.Type
	case "reason":
		return &o.Reason
	case "message":
		return &o.Message
	case "note":
		return &o.Note
	case "firstTimestamp":
		return &o.First
	case "lastTimestamp":
		return &o.Last
	case "eventTime":
		return &o.When
	case "spec":
		return &o.Spec
	case "status":
		return &o.Status
	}
	return nil
}

func (o *object) isEvent() bool {
	return (o.Kind == "Event" || o.Kind == "") && (o.Involved.Kind != "" || o.Regarding.Kind != "")
}

func (o *object) isPod() bool {
	return (o.Kind == "Pod" || o.Kind == "") && len(o.Spec.Containers) > 0 && o.Metadata.Name != ""
}

// apiPrecision is that of times of the API: whole seconds.
const apiPrecision = time.Second

func (m *objectRecords) put(pod trace.Pod, at time.Time, edge trace.Edge, e trace.Event) {
	if at.Year() < 1971 || at.Year() > 2198 {
		return
	}
	m.ids++
	m.recs = append(m.recs, trace.Record{
		Time: at.UnixNano(), Edge: edge, Span: m.ids, Pod: pod, Observer: trace.ObserverAPIServer, Precision: trace.PrecisionOf(apiPrecision), Event: e,
	})
}

// event makes records of an Event: of the first and of the last time that it was.
func (m *objectRecords) event(o *object) bool {
	of := o.Involved
	if of.Kind == "" {
		of = o.Regarding
	}
	last := o.Last
	for _, t := range []time.Time{o.When, o.First, o.Metadata.Created} {
		if last.IsZero() {
			last = t
		}
	}
	if of.Kind != "Pod" && of.Kind != "Node" || last.IsZero() {
		return false
	}
	var pod trace.Pod
	if of.Kind == "Pod" {
		pod = name(of.Namespace, of.Name, of.UID)
	}
	e := &trace.NodeEvent{
		Type: trace.EventNormal, Reason: clean(o.Reason, 256), Message: clean(cmp.Or(o.Message, o.Note), 4096), Field: clean(of.FieldPath, 512),
	}
	if o.Type == "Warning" {
		e.Type = trace.EventWarning
	}
	if !o.First.IsZero() && last.Sub(o.First) > apiPrecision {
		m.put(pod, o.First, trace.EdgePoint, e)
	}
	m.put(pod, last, trace.EdgePoint, e)
	return true
}

func name(ns, name, uid string) trace.Pod {
	return trace.Pod{Namespace: clean(ns, 253), Name: clean(name, 253), UID: clean(uid, 64)}
}

// clean is foreign text of bounded length that does nothing to what shows it.
func clean(s string, most int) string { return human.Visible(trace.Clip(s, most)) }

// pod makes records of a pod as it was: when the kubelet took it, when its containers started, when it was ready, and what it waits for.
func (m *objectRecords) pod(o *object) bool {
	pod := name(o.Metadata.Namespace, o.Metadata.Name, o.Metadata.UID)
	if m.pods[pod] || o.Status.Start.IsZero() { // no kubelet has it
		return false
	}
	m.pods[pod] = true
	spec := &trace.PodSpec{Containers: specs(o.Spec.Containers), InitContainers: specs(o.Spec.InitContainers), RestartPolicy: trace.RestartPolicy(clean(o.Spec.RestartPolicy, 64)), QoS: trace.QoSClass(clean(o.Status.QoS, 64)), HostNetwork: o.Spec.HostNetwork}
	for _, v := range o.Spec.Volumes[:min(len(o.Spec.Volumes), 64)] {
		spec.Volumes = append(spec.Volumes, clean(v.Name, 253))
	}
	m.put(pod, o.Status.Start, trace.EdgePoint, &trace.Milestone{Name: trace.MilestoneSeen, Source: trace.SourceAPI, Spec: spec})
	started, all := o.Status.Start, len(o.Status.Containers) > 0
	latest := o.Status.Start
	for _, c := range o.Status.Containers {
		at := c.began()
		all = all && !at.IsZero()
		started = later(started, at)
		latest = later(latest, c.changed())
	}
	if all && (o.Status.Phase == "Running" || o.Status.Phase == "Succeeded") && !restarted(o.Status.Containers) {
		m.put(pod, started, trace.EdgePoint, &trace.Milestone{Name: trace.MilestoneStarted})
	}
	for _, c := range o.Status.Conditions {
		if c.Type == "Ready" && c.Status == "True" && !restarted(o.Status.Containers) {
			m.put(pod, later(c.Since, started), trace.EdgePoint, &trace.Milestone{Name: trace.MilestoneReady})
		}
		latest = later(latest, c.Since)
	}
	if !o.Metadata.Deleted.IsZero() {
		m.put(pod, o.Metadata.Deleted, trace.EdgePoint, &trace.Milestone{Name: trace.MilestoneTerminating})
	}
	for _, c := range o.Status.InitContainers {
		m.waits(pod, &c, latest)
	}
	for _, c := range o.Status.Containers {
		m.waits(pod, &c, latest)
	}
	return true
}

func specs(all []trace.ContainerSpec) (out []trace.ContainerSpec) {
	for _, c := range all[:min(len(all), 64)] {
		out = append(out, trace.ContainerSpec{Name: clean(c.Name, 253), Image: clean(c.Image, 512)})
	}
	return out
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// began is when a container started; zero where it has not.
func (c *containerStatus) began() time.Time {
	switch {
	case c.State.Running != nil:
		return c.State.Running.Started
	case c.State.Terminated != nil:
		return c.State.Terminated.Started
	}
	return time.Time{}
}

// changed is when the container's state was last known to change.
func (c *containerStatus) changed() time.Time {
	if c.Last.Terminated != nil {
		return later(c.began(), c.Last.Terminated.Finished)
	}
	return c.began()
}

// restarted reports whether a container does not run for the first time: then nobody tells any more when the pod had started.
func restarted(all []containerStatus) bool {
	for i := range all {
		if all[i].Restarts > 0 {
			return true
		}
	}
	return false
}

// waits is what a container waits for. Since when is known of a crash only; else it is after what changed last.
func (m *objectRecords) waits(pod trace.Pod, c *containerStatus, latest time.Time) {
	w := c.State.Waiting
	if w == nil || w.Reason == "" || w.Reason == "ContainerCreating" || w.Reason == "PodInitializing" {
		return
	}
	from, reason, cause := latest, clean(w.Reason, 128), clean(w.Message, 4096)
	container, image := clean(c.Name, 253), clean(c.Image, 512)
	switch reason {
	case "CrashLoopBackOff":
		if t := c.Last.Terminated; t != nil {
			from = later(from, t.Finished)
			m.put(pod, from, trace.EdgePoint, &trace.Decision{By: trace.ByRestart, Subject: container, Verdict: trace.VerdictWait, Reason: cause, ExitCode: &t.Exit, Attempt: c.Restarts})
		}
	case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError", "RegistryUnavailable", "SignatureValidationFailed":
		a := &trace.Action{ID: "image " + container, Verb: trace.VerbImage, Container: container, Target: image, Code: reason, Err: cause, Class: trace.ClassifyPull(cause)}
		m.put(pod, from, trace.EdgeEnd, a)
	}
	m.put(pod, from, trace.EdgeBegin, &trace.Wait{
		For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetContainer, Name: container}, Reason: reason, Cause: cause, Class: trace.Classify(reason + ": " + cause),
	})
}
