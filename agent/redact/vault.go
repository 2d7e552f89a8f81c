package redact

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

const (
	// maxBytes and maxPatterns limit the size of one owner's secrets, with all spellings, and of the values from each
	// source. If an owner has more, none of its texts is shown.
	maxBytes    = 256 << 10
	maxPatterns = 4096
	// maxGone is how many deleted owners are kept: the runtime's messages about a pod may arrive late.
	maxGone = 32
	// distinct is the length from which a pod's values are searched for in texts that belong to no pod. Otherwise a pod
	// whose secrets are common words would redact the node's own log.
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
	gone   []string // forgotten owners, oldest first
}

// NewVault returns an empty vault.
func NewVault() *Vault { return &Vault{owners: map[string]*owner{}} }

type owner struct {
	gone bool // guarded by the vault's mu

	// making is held while found is computed, which takes long for many values: those who publish about this owner wait
	// for it, and nobody else.
	making sync.Mutex

	mu sync.Mutex // the innermost lock
	// public returns the owner's manifest; nil means none.
	public func() string
	// sources are the values by source: the latest, then the previous ones.
	sources map[string][2]learned
	// found is computed from these when it is needed; generation says for which state.
	found      *finder
	generation uint64
}

// change calls f to change the owner's values.
func (o *owner) change(f func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	f()
	o.found = nil
	o.generation++
}

// Learn adds the values that came from a source, such as "secret ns/name" or "env of web". The previous values are
// kept, because they may still be in use; older ones are removed. An owner is a pod's UID, or [Node].
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

// Environment is the source of the secret values of a container's variables.
func Environment(container string) string { return "environment of " + container }

// Said returns the runtime's message about a container, without secrets. It may quote arguments. The secrets of a
// container that an earlier agent created are unknown until it is created again: then Said returns only the length.
func (v *Vault) Said(uid, container, message string) string {
	if v == nil || message == "" {
		return message
	}
	if !v.Knows(uid, container) {
		return fmt.Sprintf("%s (%d bytes of an earlier agent's container)", Mark, len(message))
	}
	return v.Text(uid, message)
}

// Knows reports whether this agent created a container of that name, and therefore knows its environment. A nil Vault
// returns true.
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

// Forget marks a pod as deleted. Its values are kept until more pods are deleted, because messages about it can arrive
// late.
func (v *Vault) Forget(uid string) {
	if v == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.forget(uid)
}

// Keep forgets the owners that are not known: their values arrived when the pod was already gone. known is called
// without a lock held.
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
	if o.found != nil || len(o.sources) == 0 { // otherwise it is needed once more
		o.public = nil // it references the pod's object, which may be large
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
	if o.gone { // the pod is used again
		o.gone = false
		v.gone = slices.DeleteFunc(v.gone, func(s string) bool { return s == uid })
	}
	return o
}

// For returns a function that redacts a pod's and the node's secrets in a text; nil if there are none. For texts that
// belong to no pod, uid is [Node].
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

// asked is an owner whose values are searched for. If it is not the text's own, only distinct values are.
type asked struct {
	owner *owner
	own   bool
}

// of returns the owners whose values a text may contain: the node and the pod itself, or for texts that belong to no
// pod, all owners.
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

// Text redacts a pod's secrets in a text.
func (v *Vault) Text(uid, text string) string {
	if f := v.For(uid); f != nil {
		return f(text)
	}
	return text
}

// finder returns the finder of the owner's values; nil if it has none.
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

// ready returns the finder if it is already computed; otherwise nil.
func (o *owner) ready() *finder {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.found
}

// values returns all of the owner's values, unless they are more than can be searched. Called with mu.
func (o *owner) values() (out []string, full bool) {
	for _, generations := range o.sources {
		for _, l := range generations {
			out, full = append(out, l.values...), full || l.full
		}
	}
	return out, full
}

// secrets returns the values that the manifest does not contain. If there are very many, it does not search the
// manifest.
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
