package trace

import (
	"regexp"
	"slices"
	"strings"
)

// startFailed and securityFailed begin the part of an error that says why a container cannot be created or started. The text after
// them contains names that the author of the pod or of the image chose.
var (
	startFailed = regexp.MustCompile(`unable to start container process|OCI runtime (create|start|exec) failed|failed to start exec "|` +
		`failed to create (containerd|shim) task|executable file not found in \$PATH|\bfailed to mkdir "`)
	securityFailed = regexp.MustCompile(`container has runAsNonRoot and |image will run as root|unable to find (user|group) |no users found|no matching entries in (passwd|group) file|` +
		`(?i:apparmor) (profile |failed |is not |spec)|unable to apply apparmor profile|seccomp (profile|spec|is not)|failed to generate (apparmor|seccomp) spec|SELinux`)
)

// parts match the errors of the parts of FailStart and FailSecurity: those of runc 1.3 and crun, of containerd 2 and of the kubelet. The first
// pattern of the list that matches counts.
var parts = map[FailureClass][]pattern{
	FailStart: {
		{FailAppArmor, regexp.MustCompile(`(?i)apparmor`)},
		{FailSeccomp, regexp.MustCompile(`(?i)seccomp`)},
		{FailUserMissing, regexp.MustCompile(`unable to find (user|group) |no matching entries in (passwd|group) file`)},
		{FailStartMemory, regexp.MustCompile(`OOM-killed \(memory limit too low|container init was OOM-killed`)},
		{FailStartWorkdir, regexp.MustCompile(`chdir to cwd|mkdir(at)? cwd|Cwd must be an absolute path|container init: mkdir /.*: not a directory`)},
		{FailStartReadOnly, regexp.MustCompile(`error mounting .*: mkdir(at)? .*: read-only file system$`)},
		{FailStartMount, regexp.MustCompile(`error mounting|not a directory: Are you trying to mount|Are you trying to mount a directory`)},
		{FailStartFormat, regexp.MustCompile(`exec format error`)},
		{FailStartDir, regexp.MustCompile(`: is a directory|exec: .*: not a directory|stat .*: not a directory`)},
		{FailStartMissing, regexp.MustCompile(`executable file not found|exec: ".*": stat .*: no such file or directory|executable file .* not found`)},
		{FailStartLoader, regexp.MustCompile(`\bexec /.*: no such file or directory`)},
		{FailStartReadOnly, regexp.MustCompile(`read-only file system`)},
		{FailStartDenied, regexp.MustCompile(`exec: ".*": permission denied|exec /.*: permission denied|executable .*: Permission denied`)},
	},
	FailSecurity: {
		{FailUserName, regexp.MustCompile(`non-numeric user`)},
		{FailRunsAsRoot, regexp.MustCompile(`runAsNonRoot|run as root`)},
		{FailUserMissing, regexp.MustCompile(`unable to find (user|group) |no users found|no matching entries`)},
		{FailAppArmor, regexp.MustCompile(`(?i)apparmor`)},
		{FailSeccomp, regexp.MustCompile(`(?i)seccomp`)},
	},
}

// lastLine is all that runc writes to the log of a container whose program the kernel does not execute. By then it has reported a start.
var lastLine = regexp.MustCompile(`^exec /\S+: (exec format error|no such file or directory|permission denied)$`)

// notExecuted is the exit code of such a container.
const notExecuted = 255

// ClassifyExit returns the class of the failure of a container that exited without having run, from its exit code and the reason and the
// message of its exit. Messages of others are the container's own words; they can be the end of its log.
func ClassifyExit(code int32, reason, message string) FailureClass {
	switch reason {
	case "StartError", "ContainerCannotRun":
		if class := Classify(message); class != "" {
			return class
		}
		return FailStart
	case "Error":
		if line := strings.TrimSpace(message); code == notExecuted && lastLine.MatchString(line) {
			return partOf(FailStart, line)
		}
	}
	return ""
}

// partOf is the part of a class that an error's text belongs to; the class itself if it is none of them.
func partOf(class FailureClass, err string) FailureClass {
	all := parts[class]
	if i := slices.IndexFunc(all, func(p pattern) bool { return p.text.MatchString(err) }); i >= 0 {
		return all[i].class
	}
	return class
}
