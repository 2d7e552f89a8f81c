package cause

import "github.com/kubeloupe/kubeloupe/trace"

func securityRefused() Rule {
	return Rule{
		ID: "KL36", Name: "security context cannot be applied",
		About: "A container is not created or started because of its security context: runAsNonRoot with an image that runs as root or as a user " +
			"that is only a name, a user that the image does not have, an AppArmor or seccomp profile that the node does not have. It rests on " +
			"the class of the error in a failed step of the container or in its status.",
		Find: func(c *Case) []Finding { return c.startFailures(trace.FailSecurity, securityText) },
	}
}

// securityText says what class of failure it is, what to do and what rules it out.
func securityText(class trace.FailureClass, _ string) (what, remedy, disproof string) {
	disproof = "The same container starts on this node with the same security context."
	switch class { //nolint:exhaustive // the others are the default
	case trace.FailRunsAsRoot:
		return "runAsNonRoot is set, and its image runs as root",
			"Set securityContext.runAsUser to another user than 0 (the files that it needs must be readable for that user), use an image whose USER is a number other than 0, or remove runAsNonRoot.", disproof
	case trace.FailUserName:
		return "runAsNonRoot is set, and the user of its image is a name, so nobody can tell that it is not root",
			"Set securityContext.runAsUser to the user's number, or write USER as a number in the image.", disproof
	case trace.FailUserMissing:
		return "its image does not have the user or group that it should run as",
			"Add the user to /etc/passwd (or the group to /etc/group) of the image, or set runAsUser and runAsGroup to numbers.", disproof
	case trace.FailAppArmor:
		return "its AppArmor profile cannot be applied",
			"Load the profile on the node (apparmor_parser -r FILE; aa-status lists those that are loaded), correct localhostProfile, or use RuntimeDefault. A kernel without AppArmor has no profiles.", disproof
	case trace.FailSeccomp:
		return "its seccomp profile cannot be applied",
			"Put the profile on the node, below the directory seccomp of the kubelet's root directory (/var/lib/kubelet/seccomp), correct localhostProfile, or use RuntimeDefault.", disproof
	}
	return "its security context cannot be applied", "Compare the container's securityContext with what the node supports (kernel, runtime, security modules).", disproof
}
