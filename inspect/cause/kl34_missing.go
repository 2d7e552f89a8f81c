package cause

import (
	"fmt"
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/say"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

func missingObject() Rule {
	return Rule{
		ID: "KL34", Name: "missing object",
		About: "The pod needs a ConfigMap, a Secret, a key of one, a claim, a service account or a RuntimeClass that does not exist, or that the node " +
			"must not read. It rests on failed steps and volumes whose error names the object, and lasts until they succeed. An object that only " +
			"comes late, without an error, is KL11's.",
		Find: findMissingObject,
	}
}

// lack is a missing object of a pod.
type lack struct {
	trace.Missing
	need     string // what needs it: a container, a volume
	from, to time.Time
	open     bool
	whole    bool // a step of the pod says it, not a container or volume
	tries    int
	evidence []Evidence
}

// lacks are the objects that the pod's steps and volumes miss or missed, in order.
func (c *Case) lacks() (out []*lack) {
	type try struct {
		rec      *trace.Record
		id, need string
		from, to time.Time
		missing  *trace.Missing
		err      string
		done     bool
	}
	var tries []try
	for _, a := range ownSpans[*trace.Action](c) {
		if a.Event.Verb == trace.VerbCreate && !a.Open {
			tries = append(tries, try{a.Rec(), "c/" + a.Event.Container, "container " + a.Event.Container, a.Start, a.Stop, a.Event.Missing, a.Err(), a.Err() == ""})
		}
		if (a.Event.Verb == trace.VerbVolumes || a.Event.Verb == trace.VerbSandbox) && !a.Open && a.Event.Missing != nil {
			tries = append(tries, try{a.Rec(), "p", stepNeeds[a.Event.Verb], a.Start, a.Stop, a.Event.Missing, a.Err(), false})
		}
		if a.Event.Verb == trace.VerbCreate && a.Err() == "" {
			tries = append(tries, try{rec: a.Rec(), id: "p", from: a.Start, to: a.Stop, done: true})
		}
	}
	for _, v := range ownSpans[*trace.Volume](c) {
		if v.Event.Op == trace.VolumeSetup && !v.Open {
			tries = append(tries, try{v.Rec(), "v/" + v.Event.Name, "volume " + v.Event.Name, v.Start, v.Stop, v.Event.Missing, v.Err(), v.Err() == ""})
		}
	}
	sorting.Stable(tries, func(a, b *try) int { return a.from.Compare(b.from) })
	ids := map[string]*lack{}
	for _, t := range tries {
		l := ids[t.id]
		switch {
		case t.done && l != nil:
			l.open, l.to = false, t.from
			delete(ids, t.id)
		case t.missing == nil:
		default:
			if l == nil || l.Missing != *t.missing {
				l = &lack{Missing: *t.missing, need: t.need, from: t.from, open: true, whole: t.id == "p"}
				ids[t.id] = l
				out = append(out, l)
			}
			l.tries++
			l.to = t.to
			l.evidence = append(l.evidence, evidence(t.rec, "%s: %s", t.need, quoted(t.err)))
		}
	}
	return slices.DeleteFunc(slices.Clone(out), func(l *lack) bool {
		return l.whole && slices.ContainsFunc(out, func(o *lack) bool { return !o.whole && o.Name == l.Name && o.Key == l.Key }) // a volume of the step says it
	})
}

// stepNeeds names the steps of a pod that can miss an object.
var stepNeeds = map[trace.Verb]string{trace.VerbVolumes: "the setup of its volumes", trace.VerbSandbox: "its sandbox"}

func findMissingObject(c *Case) (out []Finding) {
	for _, l := range c.lacks() {
		f := Finding{Confidence: Certain, Current: l.open && c.stuck()}
		if f.Cost = c.costFrom(l.from, l.to, f.Current); !c.fails(f.Cost, f.Current) {
			continue
		}
		object := objectText(c.Pod.Namespace, &l.Missing)
		f.Sentence = fmt.Sprintf("%s needs %s", l.need, object)
		if l.Forbidden {
			f.Sentence += ", which the node must not read"
		} else {
			f.Sentence += ", which does not exist"
		}
		if l.tries > 1 {
			f.Sentence += fmt.Sprintf(" (it failed %s)", times(l.tries))
		}
		f.Evidence = few(l.evidence)
		f.Remedy, f.RuledOutBy = missingRemedy(c.Pod.Namespace, &l.Missing), "kubectl shows the object, with the key, in the pod's namespace since before that time: then the node reads another API server, or a stale version."
		out = append(out, f)
	}
	return out
}

// missedAt is when the pod missed an object, and whether it still does.
func (c *Case) missedAt() (at []stretch, still bool) {
	for _, l := range c.lacks() {
		to := l.to
		if l.open {
			to, still = c.Now, true
		}
		at = append(at, stretch{l.from, to})
	}
	return at, still
}

// objectText names a missing object.
func objectText(ns string, m *trace.Missing) string {
	name := say.Target(trace.Target{Kind: m.Kind, Namespace: ns, Name: m.Name})
	if m.Name == "" {
		name = "a " + string(m.Kind)
	}
	if m.Key != "" {
		return "key " + m.Key + " of " + name
	}
	return name
}

// missingRemedy is what to do about a missing object.
func missingRemedy(ns string, m *trace.Missing) string {
	name := m.Name
	if name == "" {
		name = "NAME"
	}
	switch {
	case m.Forbidden:
		return fmt.Sprintf("A node may read only what its own pods refer to: see whether %s exists in namespace %s, and what the node authorizer says.", name, ns)
	case m.Key != "":
		return fmt.Sprintf("Add the key to the %s (kubectl edit %s -n %s %s), correct the key in the pod's spec, or mark the reference optional: true.", m.Kind, m.Kind, ns, name)
	}
	switch m.Kind { //nolint:exhaustive // the others are the default
	case trace.TargetClaim:
		return fmt.Sprintf("Create the claim in namespace %s, or correct claimName: kubectl get pvc -n %s.", ns, ns)
	case trace.TargetRuntimeClass:
		return "Create the RuntimeClass, or correct runtimeClassName: kubectl get runtimeclass."
	case trace.TargetServiceAccount:
		return fmt.Sprintf("Create the service account (kubectl create serviceaccount -n %s %s), or correct serviceAccountName.", ns, name)
	}
	return fmt.Sprintf("Create it in namespace %s, correct its name in the pod's spec (kubectl get %s -n %s), or mark the reference optional: true. The kubelet retries by itself.", ns, m.Kind, ns)
}
