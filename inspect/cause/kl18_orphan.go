package cause

import (
	"fmt"
	"path"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/say"
)

func orphanedVolume() Rule {
	return Rule{
		ID: "KL18", Name: "orphaned volume",
		About: "The volumes of an unknown pod are still on the node and cannot be removed. It is reported for the pod whose " +
			"directory was kept (the verdict keep of orphan), and of a pod that waits for a persistent volume which such a directory still has mounted.",
		Find: findOrphanedVolume,
	}
}

// keptOrphans are the last verdicts on pods' directories that could not be removed, by the pod's UID.
func (c *Case) keptOrphans() map[string]Point[*trace.Decision] {
	kept := map[string]Point[*trace.Decision]{}
	for _, d := range nodePoints[*trace.Decision](c) {
		uid := d.Event.Orphan
		switch {
		case d.Event.By != trace.ByOrphans || uid == "":
		case d.Event.Verdict == trace.VerdictKeep:
			kept[uid] = d
		default:
			delete(kept, uid) // it went in the end
		}
	}
	return kept
}

func findOrphanedVolume(c *Case) []Finding {
	kept := c.keptOrphans()
	if len(kept) == 0 {
		return nil
	}
	if d, ok := kept[c.Pod.UID]; ok && c.Pod.UID != "" {
		return []Finding{orphanFinding(d, "its directory is left on the node, as its volumes cannot be removed: "+quoted(d.Event.Reason))}
	}
	for _, d := range kept {
		name := d.Event.Volume
		if name == "" {
			continue
		}
		var all []holdup
		waits := ownSpans[*trace.Wait](c)
		for i := range waits {
			w := &waits[i]
			if c.waitsForVolume(w, name) {
				all = append(all, holdup{at: c.on(w.ID(), w.Start, w.Stop), what: say.On(w.Event), evidence: waitEvidence(w), open: w.Open, target: w.Event.Target.Kind})
			}
		}
		cost := covered(stretches(all))
		if open := openOf(all) && !c.up(); len(all) > 0 && c.speaks(cost, open) {
			f := orphanFinding(d, fmt.Sprintf("it waited %s for volume %s, which is still mounted for pod %s that no longer exists",
				took(cost, open), name, d.Event.Orphan))
			f.Cost, f.Current, f.Confidence = cost, open, Likely
			for i := range all {
				f.Evidence = append(f.Evidence, all[i].evidence)
			}
			f.Evidence = few(f.Evidence)
			return []Finding{f}
		}
	}
	return nil
}

// waitsForVolume reports whether a wait is for the volume that has this name on the node.
func (c *Case) waitsForVolume(w *Span[*trace.Wait], name string) bool {
	e := w.Event
	if e.For != trace.WaitAttach && e.For != trace.WaitLock && e.For != trace.WaitLabel && e.For != trace.WaitBackoff {
		return false
	}
	if e.Target == (trace.Target{Kind: trace.TargetVolume, Name: name}) {
		return true
	}
	v := c.failedVolume(w, func(v *trace.Volume) bool { return path.Base(v.Path) == name || v.Name == name })
	if v == nil || e.Target.Kind != trace.TargetRetry {
		return v != nil && e.Target == (trace.Target{Kind: trace.TargetVolume, Name: v.Event.Name})
	}
	a := c.failedAction(w)
	return a != nil && a.Event.Verb == trace.VerbVolumes
}

func orphanFinding(d Point[*trace.Decision], sentence string) Finding {
	return Finding{
		Confidence: Certain, Sentence: sentence, Current: true,
		Evidence: []Evidence{evidence(d.Rec, "%s is kept: %s", d.Event.Subject, quoted(d.Event.Reason))},
		Remedy: "Find what holds the mount (findmnt -R " + d.Event.Path + "; fuser -vm PATH), stop it, and unmount. " +
			"Housekeeping retries each minute and then removes the directory. Never remove files below a mount.",
		RuledOutBy: "findmnt shows no mount below the directory, or the next verdict on it is remove.",
	}
}
