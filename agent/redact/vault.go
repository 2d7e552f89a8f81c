package redact

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

const (
	// maxBytes and maxPatterns bound what is kept of one owner's secrets, all spellings counted, and of the values from each
	// source. Beyond it nothing of the owner's texts is shown.
	maxBytes    = 256 << 10
	maxPatterns = 4096
	// maxGone is how many owners are kept that are gone: what a runtime tells of a pod may come late.
	maxGone = 32
	// distinct is the length from which a pod's value is looked for in texts that belong to no pod. Else a pod with
	// common words for secrets would blank the node's own log.
	distinct = 12
)

// Node is the owner of secrets that belong to no pod. All texts are searched for them.
const Node = ""

// Vault knows the secrets of each pod on the node, and redacts them in texts. Its size is limited by owner: the spellings of an
// owner's secrets take at most 256 KiB; if an owner has more, all its texts are redacted completely.
//
// The authors of pods and Secrets decide what is in it, so a text is searched for the values of its own pod only. Safe for
// concurrent use. A nil Vault knows nothing.
type Vault struct {
	mu     sync.Mutex
	owners map[string]*owner
	gone   []string // owners that were forgotten, oldest first
}

// NewVault returns one that knows nothing.
func NewVault() *Vault { return &Vault{owners: map[string]*owner{}} }

type owner struct {
	gone bool // guarded by the vault's lock

	// making is held while found is made, which takes long where there is much: who publishes about this owner waits for it, and
	// nobody else.
	making sync.Mutex

	mu sync.Mutex // the innermost
	// public gives what the owner's manifest says; nil is nothing.
	public func() string
	// sources are the values by where they came from: the latest, then those before.
	sources map[string][2]learned
	// found is made of the above when it is needed; of the generation it is.
	found      *finder
	generation uint64
}

// change has f change what the owner knows.
func (o *owner) change(f func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	f()
	o.found = nil
	o.generation++
}

// Learn adds the values that came from a source, such as "secret ns/name" or "env of web". They replace the values before the
// previous ones: the previous values may still be in use. An owner is a pod's UID, or [Node].
func (v *Vault) Learn(uid, source string, values ...string) {
	if v == nil {
		return
	}
	now := learn(values)
	o := v.owner(uid)
	o.mu.Lock()
	had, known := o.sources[source]
	o.mu.Unlock()
	if known && had[0].equal(now) {
		return
	}
	o.change(func() { o.sources[source] = [2]learned{now, o.sources[source][0]} })
}

// Environment is the source of what a container's variables have that is secret.
func Environment(container string) string { return "environment of " + container }

// Said is the runtime's message about a container, without secrets. It may quote arguments. The secrets of a container that an earlier agent
// created are unknown until it is created again: then Said returns only the length.
func (v *Vault) Said(uid, container, message string) string {
	if v == nil || message == "" {
		return message
	}
	if !v.Knows(uid, container) {
		return fmt.Sprintf("%s (%d bytes of an earlier agent's container)", Mark, len(message))
	}
	return v.Text(uid, message)
}

// Knows reports whether this agent made a container of that name, and so knows its environment. A nil Vault knows all there is.
func (v *Vault) Knows(uid, container string) bool {
	if v == nil {
		return true
	}
	v.mu.Lock()
	o := v.owners[uid]
	v.mu.Unlock()
	if o == nil {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	_, known := o.sources[Environment(container)]
	return known
}

// Public sets the pod's manifest; manifest is called when needed, from any goroutine, and its text is not kept. A value that also occurs in
// the manifest is not secret: for example a user named postgres, in a container of that name.
func (v *Vault) Public(uid string, manifest func() string) {
	if v == nil {
		return
	}
	o := v.owner(uid)
	o.change(func() { o.public = manifest })
}

// Forget says that a pod is deleted. Its values are kept until more pods are deleted, because messages about it can arrive late.
func (v *Vault) Forget(uid string) {
	if v == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.forget(uid)
}

// Keep forgets the owners that are not known: what was learned of a pod when it was gone already. known is called without a lock
// held.
func (v *Vault) Keep(known func(uid string) bool) {
	if v == nil {
		return
	}
	v.mu.Lock()
	all := slices.Collect(maps.Keys(v.owners))
	v.mu.Unlock()
	for _, uid := range all {
		if uid != Node && !known(uid) {
			v.Forget(uid)
		}
	}
}

// forget is Forget. Called with mu.
func (v *Vault) forget(uid string) {
	o := v.owners[uid]
	if o == nil || o.gone {
		return
	}
	o.gone = true
	o.mu.Lock()
	if o.found != nil || len(o.sources) == 0 { // else it is needed once more
		o.public = nil // it holds the pod's object, which may be large
	}
	o.mu.Unlock()
	v.gone = append(v.gone, uid)
	for len(v.gone) > maxGone {
		if old := v.owners[v.gone[0]]; old != nil && old.gone {
			delete(v.owners, v.gone[0])
		}
		v.gone = v.gone[1:]
	}
}

func (v *Vault) owner(uid string) *owner {
	v.mu.Lock()
	defer v.mu.Unlock()
	o := v.owners[uid]
	if o == nil {
		o = &owner{sources: map[string][2]learned{}}
		v.owners[uid] = o
	}
	if o.gone { // the pod is back
		o.gone = false
		v.gone = slices.DeleteFunc(v.gone, func(s string) bool { return s == uid })
	}
	return o
}

// For returns what blanks a pod's secrets, and the node's, in a text; nil when there are none. Of texts that are no
// pod's, uid is [Node].
func (v *Vault) For(uid string) func(text string) string {
	if v == nil {
		return nil
	}
	var of []*finder
	for _, o := range v.of(uid) {
		f := o.owner.finder()
		if f != nil && !o.own {
			f = f.distinct()
		}
		if f != nil {
			of = append(of, f)
		}
	}
	return blanking(of)
}

// asked is an owner whose values are looked for. Not own are those of others, of which only what is distinct counts.
type asked struct {
	owner *owner
	own   bool
}

// of are the owners whose values a text may have: the node and the pod itself, or, for texts that are no pod's, everybody.
func (v *Vault) of(uid string) (all []asked) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if o := v.owners[Node]; o != nil {
		all = append(all, asked{o, true})
	}
	if uid != Node {
		if o := v.owners[uid]; o != nil {
			all = append(all, asked{o, true})
		}
		return all
	}
	for other, o := range v.owners {
		if other != Node {
			all = append(all, asked{o, false})
		}
	}
	return all
}

func blanking(of []*finder) func(string) string {
	if len(of) == 0 {
		return nil
	}
	return func(text string) string {
		for _, f := range of {
			text = f.blank(text)
		}
		return text
	}
}

// Text blanks a pod's secrets in a text.
func (v *Vault) Text(uid, text string) string {
	if f := v.For(uid); f != nil {
		return f(text)
	}
	return text
}

// finder is what finds the owner's values; nil when it has none.
func (o *owner) finder() *finder {
	if f := o.ready(); f != nil {
		return f.orNil()
	}
	o.making.Lock()
	defer o.making.Unlock()
	for {
		if f := o.ready(); f != nil {
			return f.orNil()
		}
		o.mu.Lock()
		generation, public := o.generation, o.public
		values, full := o.values()
		o.mu.Unlock()
		f := &finder{full: true}
		if !full {
			f = newFinder(secrets(values, public))
		}
		o.mu.Lock()
		same := o.generation == generation
		if same {
			o.found = f
		}
		o.mu.Unlock()
		if same {
			return f.orNil()
		}
	}
}

// ready is the finder that is made already; nil when there is none.
func (o *owner) ready() *finder {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.found
}

// values are all of the owner's, unless they are more than can be looked for. Called with mu.
func (o *owner) values() (out []string, full bool) {
	for _, generations := range o.sources {
		for _, l := range generations {
			out, full = append(out, l.values...), full || l.full
		}
	}
	return out, full
}

// secrets are the values without what the manifest says. Of very many none is looked up in it.
func secrets(values []string, manifest func() string) []string {
	values = slices.DeleteFunc(values, func(s string) bool { return strings.TrimSpace(s) == "" })
	slices.Sort(values)
	values = slices.Compact(values)
	if len(values) == 0 || len(values) > maxPatterns || manifest == nil {
		return values
	}
	said := wordsIn(manifest(), values)
	return slices.DeleteFunc(values, func(s string) bool { return said[strings.TrimSpace(s)] })
}
