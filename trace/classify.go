package trace

import (
	"context"
	"errors"
	"regexp"
	"slices"
)

// FailureClass is the class of a failure, inferred from the text of its error. It is empty if the class is unknown.
type FailureClass string

// The classes of failure.
const (
	FailDeadline      FailureClass = "deadline"           // the call timed out
	FailCanceled      FailureClass = "canceled"           // the caller canceled the call
	FailUnreachable   FailureClass = "unreachable"        // the other side cannot be reached: its name, route, port, proxy or certificate
	FailNameReserved  FailureClass = "name-reserved"      // the runtime still creates the sandbox or container with this name
	FailNetwork       FailureClass = "pod-network"        // the pod network: CNI is not configured, or failed without naming a plugin
	FailPlugin        FailureClass = "cni-plugin"         // a CNI plugin failed
	FailPluginMissing FailureClass = "cni-plugin-missing" // a CNI plugin is not on the node
	FailImage         FailureClass = "image"              // the image is not available (ErrImagePull and similar reasons)
	FailImageNever    FailureClass = "image-never"        // the image is not on the node, and the pull policy is Never
	FailImageName     FailureClass = "image-name"         // the image's name is invalid
	FailImageMissing  FailureClass = "image-missing"      // the registry does not have the image
	FailImageDenied   FailureClass = "image-denied"       // the registry denies this node access to the image
	FailImageLimited  FailureClass = "image-limited"      // the registry limits the rate of requests
	FailImageReach    FailureClass = "image-unreachable"  // the registry cannot be reached
	FailImageVolume   FailureClass = "image-volume"       // an image cannot be mounted as a volume
	FailObject        FailureClass = "object"             // a ConfigMap, Secret or another object of the API server is missing, or access to it is denied
	FailKey           FailureClass = "object-key"         // the ConfigMap or Secret does not have the key
	FailUnbound       FailureClass = "claim-unbound"      // the claim has no volume yet
	FailGone          FailureClass = "gone"               // the object to write no longer exists
	FailReplaced      FailureClass = "replaced"           // another object has the name now
	FailStart         FailureClass = "start"              // the container's first process cannot be started, for another reason than those below
	FailStartMissing  FailureClass = "start-missing"      // the program is not in the container, or not in PATH
	FailStartDenied   FailureClass = "start-denied"       // the program must not be executed
	FailStartFormat   FailureClass = "start-format"       // the program is not executable on this machine: another architecture, or not a program
	FailStartLoader   FailureClass = "start-loader"       // the program's interpreter or dynamic loader is not in the container
	FailStartDir      FailureClass = "start-directory"    // the program is a directory, or its path leads through a file
	FailStartWorkdir  FailureClass = "start-workdir"      // the working directory cannot be entered
	FailStartMount    FailureClass = "start-mount"        // a mount cannot be made in the container, for example a directory on a file
	FailStartReadOnly FailureClass = "start-read-only"    // something must be created in a root file system or mount that is read-only
	FailStartMemory   FailureClass = "start-memory"       // the memory limit is too low for the start
	FailSecurity      FailureClass = "security"           // the security context cannot be applied, for another reason than those below
	FailRunsAsRoot    FailureClass = "runs-as-root"       // runAsNonRoot is set, and the container would run as root
	FailUserName      FailureClass = "user-name"          // runAsNonRoot is set, and the image's user is a name
	FailUserMissing   FailureClass = "user-missing"       // the image's user or group is not in its passwd or group file
	FailAppArmor      FailureClass = "apparmor"           // the AppArmor profile cannot be applied
	FailSeccomp       FailureClass = "seccomp"            // the seccomp profile cannot be applied
)

// Of reports whether a class is wider or a part of it: FailImageMissing is a part of FailImage, FailPlugin of
// FailNetwork.
func (c FailureClass) Of(wider FailureClass) bool { return c == wider || c.wider() == wider }

func (c FailureClass) wider() FailureClass {
	switch c {
	case FailPlugin, FailPluginMissing:
		return FailNetwork
	case FailImageNever, FailImageName, FailImageMissing, FailImageDenied, FailImageLimited, FailImageReach:
		return FailImage
	case FailKey, FailUnbound:
		return FailObject
	case FailStartMissing, FailStartDenied, FailStartFormat, FailStartLoader, FailStartDir, FailStartWorkdir, FailStartMount, FailStartReadOnly, FailStartMemory:
		return FailStart
	case FailRunsAsRoot, FailUserName, FailUserMissing, FailAppArmor, FailSeccomp:
		return FailSecurity
	case FailStart, FailSecurity:
	case FailDeadline, FailCanceled, FailUnreachable, FailNameReserved, FailNetwork, FailImage, FailImageVolume, FailObject, FailGone, FailReplaced:
	}
	return c
}

// pattern matches the errors of one class.
type pattern struct {
	class FailureClass
	text  *regexp.Regexp
}

// patterns match the errors of the runtime, of CNI plugins and of the API server. The first match in a text counts: the
// text of the agent and the runtime comes before what they quote, which may be from anybody: an image, a registry, a
// plugin.
var patterns = []pattern{
	{FailNetwork, regexp.MustCompile(`failed to setup network for sandbox|failed to create pod network sandbox|cni (plugin|config) (not |un)initialized|[Nn]etwork ?[Pp]lugin cni failed|failed to destroy network for sandbox|` + pluginFailed.String() + `|` + pluginMissing.String())},
	{FailNameReserved, regexp.MustCompile(`name "[^"]*" is reserved for|failed to reserve (sandbox|container) name|error reserving (pod|ctr) name|Kubelet may be retrying requests that are timing out in CRI-O|Conflict\. The container name "[^"]*" is already in use by container`)},
	{FailImage, regexp.MustCompile(`\b(ErrImagePull|ImagePullBackOff|RegistryUnavailable|SignatureValidationFailed|ErrImageNeverPull|InvalidImageName|ImageInspectError)\b|` + sandboxImage)},
	// Upstream: cri-api/pkg/errors, ErrImageVolumeMountFailed.
	{FailImageVolume, regexp.MustCompile(`^ImageVolumeMountFailed\b`)},
	{FailUnbound, regexp.MustCompile(`\bPVC is not bound\b`)},
	{FailObject, regexp.MustCompile(`\b(configmap|secret|serviceaccount|persistentvolumeclaim|runtimeclass)s?(\.[a-z.]+)? "[^"]+" (not found|is forbidden)|` + missingKey.String() + `|failed to fetch PVC from API server`)},
	{FailStart, startFailed},
	{FailSecurity, securityFailed},
	{FailReplaced, regexp.MustCompile(`Precondition failed: UID in precondition`)},
	{FailDeadline, regexp.MustCompile(`context deadline exceeded`)},
	{FailCanceled, regexp.MustCompile(`context canceled`)},
	{FailUnreachable, regexp.MustCompile(unreachable)},
}

// sandboxImage matches the errors of containerd, docker's shim and CRI-O for a sandbox without an image.
const sandboxImage = `failed to get sandbox image "|failed pulling image "|unable to pull sandbox image "|creating pod sandbox with name "[^"]*": initializing source `

// codes are gRPC codes that decide the class if the description does not.
var codes = []pattern{
	{FailDeadline, regexp.MustCompile(`code = DeadlineExceeded`)},
	{FailCanceled, regexp.MustCompile(`code = Canceled`)},
	{FailUnreachable, regexp.MustCompile(`code = Unavailable`)},
}

const unreachable = `\bdial (tcp|unix|udp)\b|no such host|connection refused|i/o timeout|TLS handshake timeout|network is unreachable|no route to host|\bx509: |\btls: `

// The two forms in which libcni names the failed plugin.
var (
	pluginFailed  = regexp.MustCompile(`plugin type="([^"]+)"`)
	pluginMissing = regexp.MustCompile(`failed to find plugin "([^"]+)"`)
)

// imagePatterns match the errors of a pull, as the registry, the network or the agent reports them. The first pattern
// of the list that matches counts: a registry's error that an image does not exist or may need authorization matches
// both.
var imagePatterns = []pattern{
	{FailImageNever, regexp.MustCompile(`\bErrImageNeverPull\b|with pull policy of Never`)},
	{FailImageName, regexp.MustCompile(`\bInvalidImageName\b|invalid reference|repository name must be lowercase`)},
	{FailImageMissing, regexp.MustCompile(`(?i)\bnot found\b|manifest unknown|does not exist`)},
	{FailImageDenied, regexp.MustCompile(`(?i)\bunauthorized\b|\bdenied\b|authorization failed|no basic auth|\b401 Unauthorized|\b403 Forbidden`)},
	{FailImageLimited, regexp.MustCompile(`(?i)\b429 Too Many Requests|\btoomanyrequests\b|rate limit`)},
	{FailImageReach, regexp.MustCompile(`\bRegistryUnavailable\b|` + unreachable + `|timeout|deadline exceeded|connection reset`)},
}

// maxClassified limits how much of an error is searched: its beginning decides the class.
const maxClassified = 4 << 10

// Classify returns the class of an error's text. Anybody may have written parts of it.
func Classify(err string) FailureClass {
	if err == "" {
		return ""
	}
	err = err[:min(len(err), maxClassified)]
	class, first := FailureClass(""), len(err)
	for _, p := range patterns {
		if at := p.text.FindStringIndex(err); at != nil && at[0] < first {
			class, first = p.class, at[0]
		}
	}
	switch {
	case class == FailNetwork && pluginMissing.MatchString(err):
		return FailPluginMissing
	case class == FailNetwork && pluginFailed.MatchString(err):
		return FailPlugin
	case class == FailImage:
		return ClassifyPull(err[first:])
	case class == FailStart || class == FailSecurity:
		return partOf(class, err[first:])
	case class == FailObject && missingKey.MatchString(err[first:]):
		return FailKey
	case class == "":
		if i := slices.IndexFunc(codes, func(p pattern) bool { return p.text.MatchString(err) }); i >= 0 {
			return codes[i].class
		}
	}
	return class
}

// ClassifyPull returns the class of the error text of a pull, FailImage if it is unknown.
func ClassifyPull(err string) FailureClass {
	if err == "" {
		return ""
	}
	err = err[:min(len(err), maxClassified)]
	if i := slices.IndexFunc(imagePatterns, func(p pattern) bool { return p.text.MatchString(err) }); i >= 0 {
		return imagePatterns[i].class
	}
	return FailImage
}

// ClassifyError is Classify for an error. For a context that ended, it does not need the text.
func ClassifyError(err error) FailureClass {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, context.Canceled):
		return FailCanceled
	case errors.Is(err, context.DeadlineExceeded):
		return FailDeadline
	}
	return Classify(err.Error())
}

// PluginIn returns the name of the CNI plugin in an error of class FailPlugin or FailPluginMissing; "" for others.
func PluginIn(err string) string {
	err = err[:min(len(err), maxClassified)]
	for _, p := range []*regexp.Regexp{pluginMissing, pluginFailed} {
		if m := p.FindStringSubmatch(err); m != nil {
			return m[1]
		}
	}
	return ""
}
