package cause

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
)

func imageBackoff() Rule {
	return Rule{
		ID: "KL05", Name: "image back-off",
		About: "An image could not be pulled, and the next attempt had to wait: a pull's back-off (10s, doubling to 5m), or the worker's own where " +
			"nothing was pulled (ErrImageNeverPull, InvalidImageName). It rests on the waits that name the image's reason, on the back-off's " +
			"decisions and on the actions that failed.",
		Find: findImageBackoff,
	}
}

// imageReasons are why a container waits for its image, as users know them.
var imageReasons = []string{
	"ErrImagePull", "ImagePullBackOff", "RegistryUnavailable", "SignatureValidationFailed", "ErrImageNeverPull", "InvalidImageName", "ImageInspectError",
}

func findImageBackoff(c *Case) []Finding {
	w := c.waited(func(e *trace.Wait) bool {
		return e.For == trace.WaitBackoff && (e.Because(imageReasons...) || e.Class.Of(trace.FailImage))
	})
	failed := slices.DeleteFunc(slices.Clone(ownSpans[*trace.Action](c)), func(s Span[*trace.Action]) bool {
		sandbox := s.Event.Verb == trace.VerbSandbox && s.Event.Class.Of(trace.FailImage)
		return s.Err() == "" || s.Event.Verb != trace.VerbImage && !sandbox
	})
	if len(failed) == 0 || len(w.spans) == 0 && !c.fromLog() {
		return nil
	}
	last := failed[len(failed)-1]
	open := w.open != nil || len(w.spans) == 0 && c.stuck() && !c.workedAfter(&last)
	if !c.fails(w.cost, open) {
		return nil
	}
	whose := "of the sandbox"
	if last.Event.Verb == trace.VerbImage {
		whose = "of container " + last.Event.Container
	}
	why, image := last.Err(), cmp.Or(last.Event.Target, whose)
	f := Finding{Confidence: Certain, Cost: w.cost, Current: open}
	for _, a := range failed {
		f.Evidence = append(f.Evidence, evidence(a.Rec(), "%s failed: %s", a.Event.ID, quoted(a.Err())))
	}
	often := "it failed " + times(len(failed))
	var verdicts []Evidence
	for _, d := range ownPoints[*trace.Decision](c) {
		if d.Event.By == trace.ByBackoff && d.Event.Verdict == trace.VerdictWait {
			why, image, often = cmp.Or(d.Event.Cause, why), d.Event.Subject, failures(d.Event)
			verdicts = append(verdicts, evidence(d.Rec, "%s: %s", human.Image(image), d.Event.Reason))
		}
	}
	if len(verdicts) > 0 {
		f.Evidence = verdicts // they tell of each failure, and of the wait that follows
	}
	if n := len(w.spans); n > 0 {
		f.Evidence = append(f.Evidence, waitEvidence(&w.spans[n-1]))
	}
	f.Evidence = few(f.Evidence)
	can, has := "could not be pulled", "had"
	if f.Current {
		can, has = "cannot be pulled", "has"
	}
	f.Sentence = fmt.Sprintf("the image %s %s (%s), and the next attempt %s to wait, %s in back-off: %s",
		human.Image(image), can, often, has, took(w.cost, f.Current), quoted(why))
	f.Remedy = imageRemedy(imageClass(failed))
	f.RuledOutBy = "A pull of the same reference on the node (crictl pull) works at once: then the registry has recovered, and the next attempt will succeed."
	return []Finding{f}
}

// workedAfter reports whether a step that failed was done later.
func (c *Case) workedAfter(failed *Span[*trace.Action]) bool {
	return slices.ContainsFunc(ownSpans[*trace.Action](c), func(a Span[*trace.Action]) bool {
		return a.Event.ID == failed.Event.ID && !a.Open && a.Err() == "" && a.Stop.After(failed.Stop)
	})
}

// failures says how often the pull failed.
func failures(d *trace.Decision) string {
	if d.Tries == 0 {
		return "it failed"
	}
	return "it failed " + times(d.Tries)
}

// imageClass says why an image could not be pulled: as the last attempt tells that says so.
func imageClass(failed []Span[*trace.Action]) trace.FailureClass {
	for _, f := range slices.Backward(failed) {
		if class := f.Event.Class; class != trace.FailImage && class.Of(trace.FailImage) {
			return class
		}
	}
	return trace.FailImage
}

// imageRemedy is what to do about a failed pull, by what the registry or the network said.
func imageRemedy(class trace.FailureClass) string {
	switch class { //nolint:exhaustive // the others are no failures of images
	case trace.FailImageNever:
		return "Put the image on the node, or let it be pulled: imagePullPolicy IfNotPresent."
	case trace.FailImageName:
		return "Correct the image's name: it cannot be read as one."
	case trace.FailImageMissing:
		return "Correct the image's name or tag, or push it: the registry does not have it. The agent tries a new spec at once."
	case trace.FailImageDenied:
		return "Give the pod an imagePullSecret (or the node a credential provider) that may read this repository."
	case trace.FailImageLimited:
		return "The registry limits requests: log in, mirror the image, or have it on the node before."
	case trace.FailImageReach:
		return "Let the node reach the registry: its name, route, port, proxy and certificate."
	}
	return "Fix what the error names. Deleting the pod forgets the back-off; so does a change of the image."
}
