package cause

import (
	"fmt"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/say"
)

func exited() Rule {
	return Rule{
		ID: "KL33", Name: "container exited",
		About: "A container exited, and the pod is not what it should be because of that: it failed (restartPolicy Never), or the container is " +
			"being restarted although it should serve, also if it exited with 0. It rests on the exit code in the container's status, and says what " +
			"the code means. A container in crash-loop back-off is KL27's, one that was out of memory KL32's, one that a probe had restarted KL30's, " +
			"one that was never started KL31's. A Job's container that completes is not reported.",
		Find: findExited,
	}
}

func findExited(c *Case) (out []Finding) {
	if !c.unwell() || c.Stage() == Ending {
		return nil
	}
	told := map[string]bool{}
	for _, name := range c.crashing() {
		told[name] = true
	}
	for _, s := range c.states() {
		e := s.exit()
		if s.Ephemeral { // it is not restarted, and its end changes nothing for the pod
			continue
		}
		if s.State == trace.ContainerRunning || e == nil || told[s.Name] || e.Reason == oomKilled || e.Class != "" || s.Class != "" || c.endedBy(s.Name) != nil || c.pulls(s.ContainerStatus) {
			continue
		}
		if f := c.exitFinding(&s, e); f != nil {
			out = append(out, *f)
		}
	}
	return out
}

// pulls reports whether a container waits for its image: then that is the reason why it does not run.
func (*Case) pulls(s *trace.ContainerStatus) bool {
	switch s.Reason {
	case "ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "ImageInspectError", "RegistryUnavailable", "SignatureValidationFailed":
		return true
	}
	return false
}

func (c *Case) exitFinding(s *state, e *trace.ContainerExit) *Finding {
	policy := trace.RestartAlways
	if spec := c.spec(); spec != nil && spec.RestartPolicy != "" {
		policy = spec.RestartPolicy
	}
	if e.ExitCode == 0 && (s.Init || policy != trace.RestartAlways) {
		return nil // it has done its work
	}
	from := s.first.At()
	f := &Finding{Confidence: Certain, Cost: c.Now.Sub(from), Current: true}
	f.Evidence = []Evidence{evidence(s.first, "container %s: %s", s.Name, say.Container(s.ContainerStatus))}
	f.Sentence = fmt.Sprintf("container %s exited with %s", s.Name, say.Code(e.ExitCode))
	logs := fmt.Sprintf("kubectl logs -n %s %s -c %s", c.Pod.Namespace, c.Pod.Name, s.Name)
	f.Remedy = "Read its log: " + logs + ", with -p once it was restarted. " + exitRemedy(e.ExitCode)
	f.RuledOutBy = "Its log shows that it ran on after that time: then another container of the pod exited."
	switch {
	case c.failed() && policy == trace.RestartNever:
		f.Sentence += ", and the pod failed: restartPolicy is Never"
	case e.ExitCode == 0:
		f.Sentence = fmt.Sprintf("container %s has completed (exit code 0), and restartPolicy Always restarts it: it should serve", s.Name)
		f.Remedy = c.servesRemedy(s.Name)
	case s.Restarts > 0:
		f.Sentence += fmt.Sprintf(" (restarted %s)", times(s.Restarts))
	}
	return f
}

// servesRemedy is what to do about a container that has completed and should serve.
func (c *Case) servesRemedy(container string) string {
	return "Let the program stay in the foreground: a shell that starts it in the background ends at once. Work that ends belongs in a Job, or needs " +
		fmt.Sprintf("restartPolicy OnFailure or Never. Its log: kubectl logs -n %s %s -c %s -p.", c.Pod.Namespace, c.Pod.Name, container)
}

// exitRemedy is what to do about an exit code of its own.
func exitRemedy(code int32) string {
	switch code {
	case 126:
		return "Code 126 comes from a shell: the command that it should run is not executable."
	case 127:
		return "Code 127 comes from a shell: the command that it should run is not in the image or not in PATH."
	case 255:
		return "If the log has \"exec format error\", the program is for another architecture; \"no such file or directory\" there means that its interpreter or loader is missing."
	case 128 + 9:
		return "SIGKILL that is no OOMKilled was sent by somebody: by the kubelet after the grace period, by the kernel to a process outside of the container's limit, or by a person."
	case 128 + 11, 128 + 6, 128 + 4, 128 + 7, 128 + 8:
		return "The program crashed: a core dump or its stack trace in the log says where."
	case 128 + 15:
		return "SIGTERM asks a program to stop: see who sent it (a person, a preStop hook, a supervisor in the container)."
	}
	return ""
}
