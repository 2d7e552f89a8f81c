package redact

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

const (
	// maxBytes and maxPatterns bound what is kept of one owner's secrets, all spellings counted. Beyond it nothing of the
	// owner's texts is shown.
	maxBytes    = 256 << 10
	maxPatterns = 4096
	// maxGone is how many owners are kept that are gone: what a runtime tells of a pod may come late.
	maxGone = 32
	// distinct is the length from which a pod's value is looked for in texts that belong to no pod. Else a pod with
	// common words for secrets would blank the node's own log.
	distinct = 12
)

// Node owns the secrets that are no pod's. They are looked for in all texts.
const Node = ""

// Vault knows the secrets of each pod on the node, and blanks them in texts. It is bounded by owner: the spellings of
// its secrets take at most 256 KiB; of an owner that has more, every text is blanked as a whole. Who makes pods and
// Secrets decides what is in it, so a text is searched for its own pod's values only.
//
// The methods may be called by anyone at any time. A nil Vault knows nothing.
type Vault struct {
	mu     sync.Mutex
	owners map[string]*owner
	gone   []string // owners that were forgotten, oldest first
}

// NewVault returns one that knows nothing.
func NewVault() *Vault { return &Vault{owners: map[string]*owner{}} }

type owner struct {
	// public is what the owner's manifest says.
	public string
	// sources are the values by where they came from: the latest, then those before.
	sources map[string][2][]string
	gone    bool
	// found is made of the above when it is needed.
	found *finder
}

// Learn takes in the values that came from a source, as "secret ns/name" or "env of web". They take the place of what
// the source had two times before: what was replaced may still be in use. An owner is a pod's UID, or [Node].
func (v *Vault) Learn(uid, source string, values ...string) {
	if v == nil {
		return
	}
	values = slices.DeleteFunc(slices.Clone(values), func(s string) bool { return len(s) < MinText })
	v.mu.Lock()
	defer v.mu.Unlock()
	o := v.owner(uid)
	had, known := o.sources[source]
	if known && slices.Equal(had[0], values) {
		return
	}
	o.sources[source] = [2][]string{values, had[0]}
	o.found = nil
}

// Environment is the source of what a container's variables have that is secret.
func Environment(container string) string { return "environment of " + container }

// Said is what the runtime says of a container as people may see it. It may quote arguments. Of a container that an
// earlier agent made, nobody knows what went into them until it is made again: then only the length is said.
func (v *Vault) Said(uid, container, message string) string {
	if v == nil || message == "" {
		return message
	}
	v.mu.Lock()
	o := v.owners[uid]
	known := false
	if o != nil {
		_, known = o.sources[Environment(container)]
	}
	v.mu.Unlock()
	if !known {
		return fmt.Sprintf("%s (%d bytes of an earlier agent's container)", Mark, len(message))
	}
	return v.Text(uid, message)
}

// Public takes in what a pod's manifest says. A value that is written there is nothing to hide: a user that is called
// postgres, in a container of that name.
func (v *Vault) Public(uid, manifest string) {
	if v == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if o := v.owner(uid); o.public != manifest {
		o.public, o.found = manifest, nil
	}
}

// Forget says that a pod is gone. Its values are kept until some more are, for what is told of it late.
func (v *Vault) Forget(uid string) {
	if v == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	o := v.owners[uid]
	if o == nil || o.gone {
		return
	}
	o.gone = true
	v.gone = append(v.gone, uid)
	for len(v.gone) > maxGone {
		if old := v.owners[v.gone[0]]; old != nil && old.gone {
			delete(v.owners, v.gone[0])
		}
		v.gone = v.gone[1:]
	}
}

func (v *Vault) owner(uid string) *owner {
	o := v.owners[uid]
	if o == nil {
		o = &owner{sources: map[string][2][]string{}}
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
	v.mu.Lock()
	defer v.mu.Unlock()
	var of []*finder
	if f := v.owners[Node].finder(); f != nil {
		of = append(of, f)
	}
	if uid == Node {
		return v.anyones(of)
	}
	if f := v.owners[uid].finder(); f != nil {
		of = append(of, f)
	}
	return blanking(of)
}

// anyones blanks what is distinct of anyone's, besides the node's own. Called with the lock held.
func (v *Vault) anyones(of []*finder) func(string) string {
	for uid, o := range v.owners {
		if f := o.finder(); uid != Node && f != nil && f.distinct() != nil {
			of = append(of, f.distinct())
		}
	}
	return blanking(of)
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
	if o == nil {
		return nil
	}
	if o.found == nil {
		o.found = newFinder(o.values())
	}
	if o.found.empty() {
		return nil
	}
	return o.found
}

// values are the owner's, without what its manifest says.
func (o *owner) values() []string {
	var out []string
	for _, generations := range o.sources {
		for _, values := range generations {
			for _, s := range values {
				if t := strings.TrimSpace(s); t != "" && !hasWord(o.public, t) {
					out = append(out, s)
				}
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
