package cause

import (
	"fmt"
	"strings"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/say/noise"
)

func cannotStart() Rule {
	return Rule{
		ID: "KL31", Name: "container cannot be started",
		About: "The runtime created a container and could not start its program, or could not prepare the container for it: the program is not " +
			"there, must not be executed, is not for this machine, or lacks its loader; a directory or mount is not what it should be; or the root " +
			"file system is read-only. It rests on the class of the runtime's error, in a failed step of the container or in its status.",
		Find: findCannotStart,
	}
}

func findCannotStart(c *Case) []Finding { return c.startFailures(trace.FailStart, startText) }

// startFailures are the findings on containers that cannot be created or started, with a failure of a class.
func (c *Case) startFailures(wide trace.FailureClass, text func(trace.FailureClass, string) (what, remedy, disproof string)) (out []Finding) {
	for _, name := range c.containerNames() {
		s := c.startFailure(name, wide)
		if s == nil {
			continue
		}
		what, remedy, disproof := text(s.class, name)
		f := Finding{Confidence: Certain, Cost: c.costFrom(s.from, s.to, s.current), Current: s.current, Evidence: few(s.evidence)}
		if !s.current && !c.fails(f.Cost, false) {
			continue
		}
		f.Sentence = fmt.Sprintf("container %s cannot be started: %s", name, what)
		if s.tries > 1 {
			f.Sentence += fmt.Sprintf(" (it failed %s)", times(s.tries))
		}
		if s.err != "" {
			f.Sentence += ": " + tail(s.err)
		}
		f.Remedy, f.RuledOutBy = remedy, disproof
		out = append(out, f)
	}
	return out
}

// maxTail bounds what is quoted of the end of an error, in bytes: runtimes say last what went wrong.
const maxTail = 140

// tail is the end of an error on one line.
func tail(err string) string {
	text := line(err)
	if len(text) <= maxTail {
		return noise.Of(text)
	}
	text = text[len(text)-maxTail:]
	_, words, ok := strings.Cut(text, " ")
	if !ok {
		words = text
	}
	return noise.Of("... " + strings.ToValidUTF8(words, ""))
}

// startText says what class of failure it is, what to do and what rules it out.
func startText(class trace.FailureClass, name string) (what, remedy, disproof string) {
	disproof = "The same image runs the same command elsewhere with the same user and mounts: then the node or its runtime is different."
	switch class { //nolint:exhaustive // the others are the default
	case trace.FailStartMissing:
		return "its program is not in the container, or not in PATH",
			"Correct command (or args, if the image has no entrypoint) of container " + name + ", or use an image that has the program. A command is not run in a shell: \"a && b\" needs [sh, -c, ...], and minimal images have no shell.", disproof
	case trace.FailStartDenied:
		return "its program must not be executed",
			"Make the file executable in the image (chmod +x), and readable for the container's user; a script from a ConfigMap needs defaultMode: 0755. A volume mounted noexec runs nothing.", disproof
	case trace.FailStartFormat:
		return "its program is not for this machine's processor, or is no program",
			"Build or pull the image for the node's architecture (kubectl get node -o wide; docker manifest inspect IMAGE); a script needs a first line such as #!/bin/sh.", disproof
	case trace.FailStartLoader:
		return "the interpreter or dynamic loader of its program is not in the container",
			"Use an image that has the interpreter or C library for which the program was built (glibc and musl differ), or link it statically. A script with Windows line ends asks for an interpreter that does not exist.", disproof
	case trace.FailStartDir:
		return "its command is a directory, or leads through a file",
			"Correct command of container " + name + ": it must be a file.", disproof
	case trace.FailStartWorkdir:
		return "its working directory cannot be entered",
			"Correct workingDir, or let the container's user enter the directory: it must be a directory with permission x for that user.", disproof
	case trace.FailStartMount:
		return "a mount cannot be made in it",
			"A directory cannot be mounted on a file, nor a file on a directory: correct mountPath or subPath (a hostPath or subPath that does not exist becomes a directory).", disproof
	case trace.FailStartReadOnly:
		return "its root file system or a volume is read-only, and a directory must be created there",
			"Create the mount point or the workingDir in the image, or mount an emptyDir above it; readOnlyRootFilesystem: true leaves only volumes writable. A mount inside a read-only volume needs its directory in that volume.", disproof
	case trace.FailStartMemory:
		return "its memory limit is too low to start it",
			"Raise the memory limit: the runtime itself needs some MiB before the program starts.", disproof
	}
	return "the runtime cannot start it",
		"Read the runtime's error below, and its log at that time (journalctl -u containerd).", disproof
}
