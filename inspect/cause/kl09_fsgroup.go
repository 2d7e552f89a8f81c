package cause

import (
	"fmt"
	"path"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

func ownership() Rule {
	return Rule{
		ID: "KL09", Name: "fsGroup change of ownership",
		About: "The group of all files of a volume was changed to the pod's fsGroup before the pod could use it. It rests on the progress that is published each " +
			"second (volume.progress), so a change of less than a second goes unmentioned; of longer ones, those that took " +
			"10 ms and 5 % of the critical path or more.",
		Find: findOwnership,
	}
}

// chown is one change of ownership of one volume.
type chown struct {
	path        string
	volume      Span[*trace.Volume]
	first, last Point[*trace.VolumeProgress]
	at          []stretch // on the critical path
}

// progressPeriod is how often a change tells how far it is; it began that long before the first time.
const progressPeriod = time.Second

// chowns finds the changes that were long enough to be told.
func (c *Case) chowns() []chown {
	volumes := map[trace.SpanID]Span[*trace.Volume]{}
	for _, v := range ownSpans[*trace.Volume](c) {
		volumes[v.ID()] = v
	}
	var out []chown
	at := map[trace.SpanID]int{}
	for _, p := range ownPoints[*trace.VolumeProgress](c) {
		v, known := volumes[p.Rec.Parent]
		if p.Event.Op != trace.VolumeFSGroup || !known {
			continue
		}
		n, seen := at[p.Rec.Parent]
		if !seen {
			n, at[p.Rec.Parent] = len(out), len(out)
			out = append(out, chown{path: p.Event.Path, volume: v, first: p})
		}
		out[n].last = p
	}
	for i := range out {
		ch := &out[i]
		from, to := laterOf(ch.first.Rec.At().Add(-ch.period()), ch.volume.Start), ch.last.Rec.At()
		switch {
		case ch.open():
			to = c.Now
		case ch.fromLog(): // which does not say when it was done: the setup ends with it
			to = ch.volume.Stop
		}
		ch.at = c.on(ch.volume.ID(), from, to)
	}
	return out
}

// fromLog reports whether the change was seen in a kubelet's log: upstream's first line of it comes after 30 s, the next ones each minute.
func (ch *chown) fromLog() bool { return ch.first.Rec.Observer == trace.ObserverKubeletLog }

// period is how long the change went on before it was first told of.
func (ch *chown) period() time.Duration {
	if ch.fromLog() {
		return 30 * time.Second
	}
	return progressPeriod
}

func (ch *chown) open() bool { return !ch.last.Event.Done && ch.volume.Open }

func findOwnership(c *Case) (out []Finding) {
	chowns := c.chowns()
	for i := range chowns {
		ch := &chowns[i]
		cost, open := covered(ch.at), ch.open() && !c.up()
		if !c.speaks(cost, open) {
			continue
		}
		last := ch.last.Event
		f := Finding{Confidence: Certain, Cost: cost, Current: open}
		f.Sentence = fmt.Sprintf("changing the group of the files of volume %s to the pod's fsGroup took %s", ch.volume.Event.Name, took(cost, open))
		if ch.fromLog() {
			f.Evidence = []Evidence{evidence(ch.first.Rec, "the kubelet was changing the ownership of %s for 30s", ch.path)}
		} else {
			f.Evidence = []Evidence{evidence(ch.first.Rec, "after the first second %d files of %s had been done", ch.first.Event.Files, path.Base(ch.path))}
		}
		if last.Files > 0 || !ch.fromLog() {
			f.Sentence += fmt.Sprintf(": %d files", last.Files)
			f.Evidence = append(f.Evidence, evidence(ch.last.Rec, "%d files; done: %t", last.Files, last.Done))
		}
		f.Remedy = "Set securityContext.fsGroupChangePolicy: OnRootMismatch in the pod, so that a volume that is already correct is not walked again; " +
			"or use a CSI driver that mounts with the group (VOLUME_MOUNT_GROUP); or have fewer files."
		f.RuledOutBy = "With fsGroupChangePolicy: OnRootMismatch, a second start with the same volume takes as long."
		out = append(out, f)
	}
	return out
}
