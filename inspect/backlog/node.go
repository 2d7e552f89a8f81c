package backlog

import (
	"maps"
	"slices"

	"github.com/kubeloupe/kubeloupe/inspect/evidence"
	"github.com/kubeloupe/kubeloupe/inspect/internal/ring"
	"github.com/kubeloupe/kubeloupe/inspect/store"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Limits on errors in manifests, and on signals.
const (
	maxFiles        = 200
	maxErrorsOfFile = 10
	maxSignals      = 64
	maxFigures      = 60 // per signal: ten minutes, with one every 10 s
	maxSteps        = 64 // of the wall clock
)

// node is the latest about the node itself.
//
// Many fields: one for each kind of record that a late reader needs about the node itself.
type node struct {
	state           string
	first           map[string]*store.Item // the first and the last record of each agent state
	latest          map[string]*store.Item
	pleg            *store.Item
	relist          *store.Item
	loop            *store.Item // the last iteration that ended
	usage           *store.Item
	eviction        *store.Item                         // the last round of evictions
	export          *store.Item                         // how sending spans does
	shutdown, shuts *store.Item                         // the announcement of a shutdown that is under way, and its last step
	steps           ring.Ring[*store.Item]              // of the wall clock: a step during a start does not make the start longer
	pressure        map[string]*ring.Ring[*store.Item]  // by signal
	short           map[string]*store.Item              // the last verdict on each signal
	sources         map[evidence.Manifest][]*store.Item // errors in manifests that are not known to be fixed
	origins         map[origin]*store.Item              // the last record of each kind from each source

	// Writes of the node's object: the last, the last successful one, the last successful registration.
	written, good, registered *store.Item
	// conditions are the writes that last changed each of the node's conditions.
	conditions map[string]*store.Item
	ready      bool
	unlike     *store.Item // the write before the one that changed Ready

	// The latest descriptions of the node and its runtime, and the agent's certificates by use.
	described, handlers *store.Item
	certificates        map[trace.CertificateUse]*store.Item
	res                 resources
}

// origin is a source of pods with a kind of record: that it delivered its set, its location, or the outcome for a pod.
type origin struct{ source, sort string }

func newNode() node {
	return node{
		first: map[string]*store.Item{}, latest: map[string]*store.Item{}, steps: ring.New[*store.Item](maxSteps),
		pressure: map[string]*ring.Ring[*store.Item]{}, short: map[string]*store.Item{}, sources: map[evidence.Manifest][]*store.Item{},
		origins: map[origin]*store.Item{}, conditions: map[string]*store.Item{}, certificates: map[trace.CertificateUse]*store.Item{}, res: newResources(),
	}
}

func (n *node) walk(v visit) {
	table(v, needNode, n.first)
	table(v, needNode, n.latest)
	one(v, needNode, &n.pleg, &n.relist, &n.loop, &n.usage, &n.eviction, &n.export, &n.shutdown, &n.shuts, &n.written, &n.good, &n.registered, &n.unlike, &n.described, &n.handlers)
	table(v, needNode, n.conditions)
	table(v, needParts, n.certificates)
	table(v, needParts, n.short)
	table(v, needParts, n.origins)
	n.res.walk(v)
	history(v, needHistory, &n.steps)
	for _, r := range n.pressure {
		history(v, needHistory, r)
	}
	for key, errs := range n.sources {
		many(v, needParts, &errs)
		n.sources[key] = errs
	}
	maps.DeleteFunc(n.sources, func(_ evidence.Manifest, errs []*store.Item) bool { return len(errs) == 0 })
}

// foldNode keeps a record about the node as a whole.
func (k *Store) foldNode(r *trace.Record, it *store.Item) {
	n, over := &k.node, r.Edge != trace.EdgeBegin
	n.res.fold(r.Event, it)
	switch e := r.Event.(type) {
	case *trace.Agent:
		k.foldAgent(e, it)
	case *trace.Loop:
		k.loops.add(it)
		if over {
			n.loop = it
		}
	case *trace.CRICall:
		if r.Edge == it.Edge { // the first record of it
			k.calls.Push(it)
		}
	case *trace.GC:
		k.passes.add(it)
	case *trace.Decision:
		k.decisions.Push(it)
		k.passes.child(it)
		if e.By == trace.ByPressure {
			keepLatest(n.short, e.Subject, it)
		}
	case *trace.Pressure:
		n.press(e, it)
	case *trace.APICall:
		k.api.fold(r, e, it)
	case *trace.NodeStatus:
		if over {
			n.write(e, it)
		}
	case *trace.NodeDescribed:
		n.described = it
	case *trace.RuntimeDescribed:
		n.handlers = it
	case *trace.Certificate:
		keepLatest(n.certificates, e.Use, it)
	case *trace.ClockStepped:
		n.steps.Push(it)
	case *trace.PLEGMode:
		n.pleg = it
		k.lines.Push(it)
	case *trace.PLEGRelist:
		if over {
			n.relist = it
		}
	case *trace.Source:
		k.delivered(r, e, it)
		n.told(r, e, it)
	case *trace.SourceError:
		n.wrong(r, e, it)
		k.lines.Push(it)
	case *trace.Log:
		if e.Level == trace.LevelWarn || e.Level == trace.LevelError {
			k.alarms.Push(it)
		} else {
			k.lines.Push(it)
		}
	case *trace.Eviction:
		n.eviction = it
		if e.Outcome != trace.EvictionNear {
			k.alarms.Push(it)
		}
	case *trace.Shutdown:
		k.alarms.Push(it)
		if n.shuts = it; e.State == trace.ShutdownAnnounced || !e.State.Underway() {
			n.shutdown = it
		}
	case *trace.SpanExport:
		if n.export = it; e.State == trace.ExportFailing {
			k.alarms.Push(it)
		} else {
			k.lines.Push(it)
		}
	case *trace.NodeEvent, *trace.OOMKill, *trace.DevicePlugin, *trace.DRAPlugin:
		k.lines.Push(it)
	case *trace.Usage:
		n.usage = it
	}
}

func (k *Store) foldAgent(e *trace.Agent, it *store.Item) {
	n := &k.node
	k.lines.Push(it)
	if e.State == trace.AgentStarting && n.state != "starting" {
		clear(n.first)
		clear(n.latest)
		clear(k.api.watches)
		n.pleg, n.loop, n.relist, n.export = nil, nil, nil, nil
		n.described, n.handlers = nil, nil
		n.shutdown, n.shuts = nil, nil
		clear(n.certificates)
		n.res.restart()
	}
	n.state = string(e.State)
	if n.first[string(e.State)] == nil && len(n.first) < maxSignals {
		n.first[string(e.State)] = it
	}
	if n.first[string(e.State)] != nil {
		n.latest[string(e.State)] = it
	}
}

func (n *node) write(e *trace.NodeStatus, it *store.Item) {
	n.written = it
	if e.Err != "" {
		return
	}
	before := n.good
	n.good = it
	for i := range e.Changed {
		if c := &e.Changed[i]; c.What == trace.ChangeCondition && c.From != c.To && slices.Contains(evidence.NodeConditions(), c.Name) {
			n.conditions[c.Name] = it
		}
	}
	if n.conditions["Ready"] == nil || n.ready != e.Ready {
		n.conditions["Ready"], n.unlike, n.ready = it, before, e.Ready
	}
	if e.Op != trace.NodePatch {
		n.registered = it
	}
}

// keepLatest replaces the item kept for a name, with at most maxSignals names.
func keepLatest[K comparable](in map[K]*store.Item, name K, it *store.Item) {
	if in[name] != nil || len(in) < maxSignals {
		in[name] = it
	}
}

// press keeps the last values of a signal.
func (n *node) press(e *trace.Pressure, it *store.Item) {
	r := n.pressure[string(e.Signal)]
	if r == nil {
		if len(n.pressure) >= maxSignals {
			return
		}
		r = new(ring.New[*store.Item](maxFigures))
		n.pressure[string(e.Signal)] = r
	}
	r.Push(it)
}

// told keeps the last records of a source of pods.
func (n *node) told(r *trace.Record, e *trace.Source, it *store.Item) {
	switch {
	case e.Op != trace.OpSet:
		keepLatest(n.origins, origin{string(e.Source), "change"}, it)
	case r.Edge != trace.EdgeBegin:
		keepLatest(n.origins, origin{string(e.Source), "set"}, it)
		if e.Path != "" {
			keepLatest(n.origins, origin{string(e.Source), "path"}, it)
		}
	}
}

// wrong keeps an error in a manifest until it is known to be fixed.
func (n *node) wrong(r *trace.Record, e *trace.SourceError, it *store.Item) {
	key := evidence.ManifestOf(e.Source, e.Path, r.Pod)
	if e.Message == "" {
		delete(n.sources, key)
		return
	}
	errs, known := n.sources[key]
	if !known && len(n.sources) >= maxFiles {
		return
	}
	errs = slices.DeleteFunc(errs, func(o *store.Item) bool {
		was, ok := o.Event.(*trace.SourceError)
		return ok && was.Line == e.Line && was.Field == e.Field && was.Message == e.Message
	})
	if len(errs) < maxErrorsOfFile {
		errs = append(errs, it)
	}
	n.sources[key] = errs
}

// delivered drops the errors in what a source delivered, and keeps the record with the log lines that reported them: it
// shows that these errors are over.
func (k *Store) delivered(r *trace.Record, e *trace.Source, it *store.Item) {
	key := evidence.ManifestOf(e.Source, e.Path, r.Pod)
	if !evidence.Delivered(r, e) || len(k.node.sources[key]) == 0 {
		return
	}
	delete(k.node.sources, key)
	k.lines.Push(it)
}
