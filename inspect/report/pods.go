package report

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
	"github.com/kubeloupe/kubeloupe/trace/say"
)

func makePods(m *model.Model, args Args) (*Table, error) {
	t := &Table{None: "No pods.", Columns: []Column{
		{Name: "NAMESPACE", Key: "namespace"},
		{Name: "NAME", Key: "name", Ends: true},
		{Key: "uid"},
		{Name: "READY"},
		{Key: "ready", Right: true},
		{Key: "containers", Right: true},
		{Name: "STATE", Key: "state"},
		{Name: "PHASE", Key: "phase", Wide: true},
		{Name: "RESTARTS", Key: "restarts", Right: true, Drop: 1},
		{Name: "STARTED IN", Key: "started_in_ns", Right: true, Drop: 2},
		{Name: "READY IN", Key: "ready_in_ns", Right: true},
		{Name: "AGE", Key: "seen", Right: true},
		{Name: "IP", Key: "ip", Wide: true},
		{Name: "QOS", Key: "qos", Wide: true},
		{Name: "SOURCE", Key: "source", Wide: true},
		{Name: "LABELS", Key: "labels", Wide: true, Long: true},
		{Name: "DOING", Key: "doing", Long: true},
	}}
	pods := m.Pods()
	for i := range pods {
		p := &pods[i]
		if !args.wants(p.Key) || p.First.Before(args.Since) {
			continue
		}
		known := !p.StatusAt.IsZero()
		ready, total, restarts := Value{}, Value{}, Value{}
		if known {
			ready, total, restarts = count(p.Ready), count(p.Total), count(p.Restarts)
		}
		t.add(str(p.Key.Namespace), str(p.Key.Name), str(p.Key.UID), Value{text: readiness(p)}, ready, total,
			str(p.State()), str(p.Phase), restarts,
			took(p.Start.ToStarted), took(p.Start.ToReady), ago(p.Start.Seen, args.Now),
			str(p.IP), str(p.QoS), str(p.Start.Source), labelsOf(p.Labels), text(doing(p, args.Now)))
	}
	return t, nil
}

// labelsOf are a pod's labels: a map, and in text as kubectl writes them.
func labelsOf(l *trace.Labels) Value {
	if l == nil {
		return Value{}
	}
	all, pairs := map[string]string{}, make([]string, 0, len(l.Items))
	for _, one := range l.Items {
		all[one.K] = one.V
		pairs = append(pairs, one.K+"="+one.V)
	}
	if l.Clipped > 0 {
		pairs = append(pairs, fmt.Sprintf("%d more", l.Clipped))
	}
	return Value{human.Line(cmp.Or(strings.Join(pairs, ","), "<none>")), all}
}

// readiness is ready containers of all, as 1/2.
func readiness(p *model.Pod) string {
	if p.StatusAt.IsZero() {
		return ""
	}
	return fmt.Sprintf("%d/%d", p.Ready, p.Total)
}

// doing says in a few words what continues in a pod that is worth a look.
func doing(p *model.Pod, now time.Time) string {
	switch {
	case len(p.Pulls) > 0:
		return pulling(&p.Pulls[0])
	case p.Backoff.Active():
		text := cmp.Or(waitingFor(p), "backing off") + ": " + p.Backoff.On()
		if p.Backoff.Until.After(now) {
			text += ", next try in " + human.Duration(p.Backoff.Until.Sub(now))
		}
		return text
	}
	for i := range p.Waits {
		if w := &p.Waits[i]; w.For != trace.WaitProbe {
			return say.WaitsFor(&w.Wait, now.Sub(w.Since))
		}
	}
	if len(p.Actions) > 0 {
		return fmt.Sprintf("%s, %s", p.Actions[0].ID, human.Duration(max(now.Sub(p.Actions[0].Since), 0)))
	}
	for i := range p.Containers {
		if c := &p.Containers[i]; c.State == trace.ContainerWaiting && c.Reason != "" {
			return c.Name + ": " + c.Reason
		}
	}
	return cmp.Or(p.Reason, p.Message)
}

// waitingFor is Kubernetes' reason for which a container waits after a failure, such as CrashLoopBackOff; "" if there is none.
func waitingFor(p *model.Pod) string {
	for i := range p.Containers {
		switch c := &p.Containers[i]; {
		case c.State != trace.ContainerWaiting, c.Reason == "ContainerCreating", c.Reason == "PodInitializing":
		case c.Reason != "":
			return c.Reason
		}
	}
	return ""
}

func pulling(p *model.Pull) string {
	text := "pulls " + human.Image(p.Image)
	if arrived := say.Arrived(p.Done, p.Total); arrived != "" {
		text += ", " + arrived
	}
	return text
}
