package cause

import (
	"fmt"
	"slices"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/say"
)

func objectWait() Rule {
	return Rule{
		ID: "KL11", Name: "API object wait",
		About: "The pod waited for an object of the API server: a ConfigMap, a Secret, a token, a claim, a RuntimeClass, a certificate. It is reported " +
			"for waits of kind object, for back-off about such an object, and for attempts that failed because of one, which together took " +
			"10 ms and 5 % of the critical path or more. Time in which the client's own throttling was the reason is KL12's, that after an attempt whose " +
			"error names a missing object is KL34's.",
		Find: findObjectWait,
	}
}

// holdup is something that held a pod up.
type holdup struct {
	at       []stretch // on the critical path
	what     string    // what it was, for the sentence
	evidence Evidence
	open     bool
	target   trace.TargetKind // of a wait
	wait     trace.WaitKind
	// class is why the try before the wait failed, plugin the volume's, where they are known.
	class  trace.FailureClass
	plugin string
}

// objectPlugins are volumes made of objects of the API server.
func objectPlugin(name string) bool {
	return slices.Contains([]string{"kubernetes.io/configmap", "kubernetes.io/secret", "kubernetes.io/projected", "kubernetes.io/downward-api"}, name)
}

// aboutObject reports whether a back-off is about an object of the API server.
func aboutObject(t trace.Target) bool {
	return slices.Contains([]trace.TargetKind{
		trace.TargetConfigMap, trace.TargetSecret, trace.TargetToken, trace.TargetClaim, trace.TargetPodCertificate,
	}, t.Kind)
}

// objectHoldups are the waits for objects, and for another try because of one.
func (c *Case) objectHoldups() (out []holdup) {
	waits := ownSpans[*trace.Wait](c)
	for i := range waits {
		w := &waits[i]
		e := w.Event
		what, class := "", trace.FailureClass("")
		switch {
		case e.For == trace.WaitObject, e.For == trace.WaitBackoff && aboutObject(e.Target):
			what = "for " + say.On(e)
		case e.For == trace.WaitBackoff:
			if err, of := c.objectError(w); err != "" {
				what, class = "to retry after "+quoted(err), of
			}
		}
		if what != "" {
			out = append(out, holdup{at: c.on(w.ID(), w.Start, w.Stop), what: what, evidence: waitEvidence(w), open: w.Open, target: w.Event.Target.Kind, class: class})
		}
	}
	return out
}

// objectError is why the try before a wait failed, if that was an object's fault: a volume that shows one, a claim, or an environment.
func (c *Case) objectError(w *Span[*trace.Wait]) (err string, class trace.FailureClass) {
	if t := w.Event.Target; t.Kind == trace.TargetVolume {
		if v := c.failedVolume(w, func(v *trace.Volume) bool { return v.Name == t.Name }); v != nil && objectPlugin(v.Event.Plugin) {
			return v.Err(), v.Event.Class
		}
		return "", ""
	}
	a := c.failedAction(w)
	switch {
	case a == nil:
		return "", ""
	case a.Event.Verb == trace.VerbVolumes:
		v := c.failedVolume(w, func(*trace.Volume) bool { return true })
		if v == nil && a.Event.Class.Of(trace.FailObject) || v != nil && objectPlugin(v.Event.Plugin) {
			return a.Err(), a.Event.Class
		}
	case a.Event.Verb == trace.VerbCreate && a.Event.Class.Of(trace.FailObject):
		return a.Err(), a.Event.Class
	}
	return "", ""
}

// failedAction is the action whose failure a wait follows: the pod worker's pause after an error, or a container's back-off.
func (c *Case) failedAction(w *Span[*trace.Wait]) (last *Span[*trace.Action]) {
	actions := ownSpans[*trace.Action](c)
	for i := range actions {
		a := &actions[i]
		switch {
		case a.Open || a.Stop.After(w.Start):
			continue
		case a.Err() == "":
			if last != nil && last.Event.ID == a.Event.ID { // it worked then
				last = nil
			}
			continue
		}
		if a.Event.Container != "" && w.Event.Concerns(a.Event.Container) || w.Event.Target.Kind == trace.TargetRetry && w.Event.Cause != "" {
			last = a
		}
	}
	return last
}

// failedVolume is the last failed operation of the wanted sort before a wait.
func (c *Case) failedVolume(w *Span[*trace.Wait], wanted func(*trace.Volume) bool) (last *Span[*trace.Volume]) {
	volumes := ownSpans[*trace.Volume](c)
	for i := range volumes {
		v := &volumes[i]
		if v.Err() != "" && !v.Stop.After(w.Start) && wanted(v.Event) {
			last = v
		}
	}
	return last
}

func findObjectWait(c *Case) []Finding {
	told, events := c.eventHoldups(trace.FailUnbound)
	for i := range told {
		told[i].what = "for " + told[i].what
	}
	all := append(c.objectHoldups(), told...)
	missing, stillMissing := c.missedAt()
	cost := coveredBut(stretches(all), slices.Concat(stretches(c.throttled()), missing))
	open := openOf(all) && !c.up() && !stillMissing
	if len(all) == 0 || !c.fails(cost, open) {
		return nil
	}
	f := Finding{Confidence: Certain, Cost: cost, Current: open}
	f.Sentence = fmt.Sprintf("it waited %s %s", took(cost, open), longestOf(all).what)
	for i := range all[:len(all)-len(told)] {
		f.Evidence = append(f.Evidence, all[i].evidence)
	}
	f.Evidence = few(slices.Concat(f.Evidence, events, c.slowRequests()))
	if longestOf(all).class == trace.FailUnbound {
		f.Sentence += ": a claim has no volume"
		f.Remedy = "Look at the claim: kubectl get pvc and kubectl describe pvc say whether it waits for a provisioner (its StorageClass names one, which must run), for a " +
			"PersistentVolume that fits its size, class and access mode, or for a node (WaitForFirstConsumer)."
		f.RuledOutBy = "kubectl get pvc shows the claim Bound since before that time: then the node reads a stale version of it."
		return []Finding{f}
	}
	f.Remedy = "If the object is missing, create it, or mark the reference optional: true. If the API server refuses it, look at the node authorizer and RBAC; " +
		"if it answers slowly, at the API server: kubectl get --raw /readyz?verbose."
	f.RuledOutBy = "The object is read at once with the node's own credentials (kubectl get --kubeconfig KUBECONFIG-OF-THE-NODE -n NAMESPACE KIND NAME), and a new pod that needs it does not wait."
	return []Finding{f}
}

// slowRequests are the pod's requests to the API server that failed or took long.
func (c *Case) slowRequests() (out []Evidence) {
	calls := ownSpans[*trace.APICall](c)
	for i := range calls {
		a := &calls[i]
		if a.Event.Verb == trace.APIPatch || a.Event.Verb == trace.APIWatch || a.Err() == "" && a.Dur() < leastCost {
			continue
		}
		text := fmt.Sprintf("%s %s %s/%s: %s", a.Event.Verb, a.Event.Resource, a.Event.Namespace, a.Event.Name, took(a.Dur(), a.Open))
		if err := a.Err(); err != "" {
			text += ", " + quoted(err)
		}
		out = append(out, evidence(a.Rec(), "%s", text))
	}
	return out
}

// stretches are the parts of the critical path that any of them took.
func stretches(all []holdup) (out []stretch) {
	for i := range all {
		out = append(out, all[i].at...)
	}
	return out
}

// longestOf is what took most of the critical path; call it where there is one.
func longestOf(all []holdup) *holdup {
	best := &all[0]
	for i := range all {
		if covered(all[i].at) > covered(best.at) {
			best = &all[i]
		}
	}
	return best
}

func openOf(all []holdup) bool {
	return slices.ContainsFunc(all, func(h holdup) bool { return h.open })
}
