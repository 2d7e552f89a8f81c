package bundle

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/inspect/attach/kubeevent"
	"github.com/kubeloupe/kubeloupe/inspect/attach/podobject"
	"github.com/kubeloupe/kubeloupe/trace"
)

// object is what matters of an Event or a pod.
type object struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Name       string            `json:"name"`
		Namespace  string            `json:"namespace"`
		UID        string            `json:"uid"`
		Created    time.Time         `json:"creationTimestamp"`
		Deleted    time.Time         `json:"deletionTimestamp"`
		Finalizers []string          `json:"finalizers"`
		Labels     map[string]string `json:"labels"`
		// Annotations are those of static pods, which their mirrors in the API have, too.
		Annotations struct {
			Mirror string `json:"kubernetes.io/config.mirror"`
			Source string `json:"kubernetes.io/config.source"`
		} `json:"annotations"`
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
	Containers     []container `json:"containers"`
	InitContainers []container `json:"initContainers"`
	RestartPolicy  string      `json:"restartPolicy"`
	HostNetwork    bool        `json:"hostNetwork"`
	Grace          int64       `json:"terminationGracePeriodSeconds"`
	Gates          []struct{}  `json:"readinessGates"`
	Volumes        []struct {
		Name string `json:"name"`
	} `json:"volumes"`

	whole *v1.PodSpec // nil where a part of it is not valid
}

// UnmarshalJSON implements [json.Unmarshaler].
func (s *podSpec) UnmarshalJSON(text []byte) error {
	type fields podSpec
	if err := json.Unmarshal(text, (*fields)(s)); err != nil {
		return err
	}
	s.whole = &v1.PodSpec{}
	if json.Unmarshal(text, s.whole) != nil {
		s.whole = nil
	}
	return nil
}

type container struct {
	Name          string `json:"name"`
	Image         string `json:"image"`
	RestartPolicy string `json:"restartPolicy"`
	Startup       *probe `json:"startupProbe"`
	Readiness     *probe `json:"readinessProbe"`
	Liveness      *probe `json:"livenessProbe"`
}

type probe struct {
	Delay   int32     `json:"initialDelaySeconds"`
	Period  int32     `json:"periodSeconds"`
	Timeout int32     `json:"timeoutSeconds"`
	Success int       `json:"successThreshold"`
	Failure int       `json:"failureThreshold"`
	Exec    *struct{} `json:"exec"`
	HTTP    *struct{} `json:"httpGet"`
	TCP     *struct{} `json:"tcpSocket"`
	GRPC    *struct{} `json:"grpc"`
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

func (m *objectRecords) put(pod trace.Pod, at time.Time, edge trace.Edge, e trace.Event) {
	if at.Year() < 1971 || at.Year() > 2198 {
		return
	}
	m.ids++
	m.recs = append(m.recs, trace.Record{
		Time: at.UnixNano(), Edge: edge, Span: m.ids, Pod: pod, Observer: trace.ObserverAPIServer, Precision: trace.PrecisionOf(kubeevent.Precision), Event: e,
	})
}

// told is an Event as the package that reads them knows it.
func (o *object) told() *kubeevent.Event {
	of := o.Involved
	if of.Kind == "" {
		of = o.Regarding
	}
	return &kubeevent.Event{
		Kind: of.Kind, Namespace: of.Namespace, Name: of.Name, UID: of.UID, Field: of.FieldPath, Warning: o.Type == "Warning", Reason: o.Reason,
		Message: cmp.Or(o.Message, o.Note), First: o.First, Last: o.Last, Other: []time.Time{o.When, o.First, o.Metadata.Created},
	}
}

// event makes records of an Event: of the first and of the last time that it was.
func (m *objectRecords) event(o *object) bool {
	recs := o.told().Told(func() trace.SpanID { m.ids++; return m.ids })
	m.recs = append(m.recs, recs...)
	return len(recs) > 0
}

// pod makes records of a pod as it was: when the kubelet took it, when its containers started, when it was ready, and what it waits for.
func (m *objectRecords) pod(o *object) bool {
	uid := podobject.UIDOf(o.Metadata.UID, o.Metadata.Annotations.Mirror)
	pod := kubeevent.Name(o.Metadata.Namespace, o.Metadata.Name, uid)
	if m.pods[pod] || o.Status.Start.IsZero() { // no kubelet has it
		return false
	}
	m.pods[pod] = true
	spec := &trace.PodSpec{
		Containers: specs(o.Spec.Containers), InitContainers: specs(o.Spec.InitContainers), RestartPolicy: trace.RestartPolicy(kubeevent.Clean(o.Spec.RestartPolicy, 64)),
		QoS: trace.QoSClass(kubeevent.Clean(o.Status.QoS, 64)), HostNetwork: o.Spec.HostNetwork, Grace: o.Spec.Grace, ReadinessGates: len(o.Spec.Gates),
		Finalizers: kubeevent.Clean(strings.Join(o.Metadata.Finalizers, ","), 1024),
	}
	for _, v := range o.Spec.Volumes[:min(len(o.Spec.Volumes), 64)] {
		spec.Volumes = append(spec.Volumes, kubeevent.Clean(v.Name, 253))
	}
	if o.Spec.whole != nil {
		spec.Objects, spec.Clipped = podobject.Objects(o.Metadata.Name, o.Spec.whole)
	}
	m.specs = append(m.specs, podSpecOf{pod, spec})
	m.put(pod, o.Status.Start, trace.EdgePoint, &trace.Milestone{Name: trace.MilestoneSeen, Source: podobject.Source(o.Metadata.Annotations.Source), Spec: spec, Labels: trace.LabelsOf(o.Metadata.Labels)})
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
	if !o.Metadata.Deleted.IsZero() && uid == o.Metadata.UID { // else the mirror of a static pod is deleted
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

func specs(all []container) (out []trace.ContainerSpec) {
	for i := range all[:min(len(all), 64)] {
		c := &all[i]
		s := trace.ContainerSpec{Name: kubeevent.Clean(c.Name, 253), Image: kubeevent.Clean(c.Image, 512), Sidecar: c.RestartPolicy == "Always"}
		for _, p := range []struct {
			kind trace.ProbeKind
			*probe
		}{{trace.ProbeStartup, c.Startup}, {trace.ProbeReadiness, c.Readiness}, {trace.ProbeLiveness, c.Liveness}} {
			if p.probe != nil {
				s.Probes = append(s.Probes, p.spec(p.kind))
			}
		}
		out = append(out, s)
	}
	return out
}

func (p *probe) spec(kind trace.ProbeKind) trace.ProbeSpec {
	s := trace.ProbeSpec{
		Probe: kind, Delay: time.Duration(p.Delay) * time.Second, Period: time.Duration(p.Period) * time.Second, Timeout: time.Duration(p.Timeout) * time.Second,
		Success: p.Success, Failure: p.Failure,
	}
	switch {
	case p.Exec != nil:
		s.How = trace.ProbeExec
	case p.HTTP != nil:
		s.How = trace.ProbeHTTP
	case p.TCP != nil:
		s.How = trace.ProbeTCP
	case p.GRPC != nil:
		s.How = trace.ProbeGRPC
	}
	return s
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
	from, reason, cause := latest, kubeevent.Clean(w.Reason, 128), kubeevent.Clean(w.Message, 4096)
	container, image := kubeevent.Clean(c.Name, 253), kubeevent.Clean(c.Image, 512)
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
