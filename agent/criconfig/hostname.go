package criconfig

import (
	"errors"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

const (
	hostnameMax = 63
	fqdnMax     = 64
)

// Hostname returns the pod's short host name, cut to 63 characters, and its DNS domain, "" if it has none.
//
// Upstream: pkg/kubelet/kubelet_pods.go, GeneratePodHostNameAndDomain.
func Hostname(pod *v1.Pod, clusterDomain string) (hostname, domain string, err error) {
	if o := pod.Spec.HostnameOverride; o != nil {
		if msgs := validation.IsDNS1123Subdomain(*o); len(msgs) > 0 {
			return "", "", invalidName("spec.hostnameOverride", *o, msgs)
		}
		hostname, err = cutHostname(*o)
		return hostname, "", err
	}
	hostname = pod.Name
	if pod.Spec.Hostname != "" {
		if msgs := validation.IsDNS1123Label(pod.Spec.Hostname); len(msgs) > 0 {
			return "", "", invalidName("spec.hostname", pod.Spec.Hostname, msgs)
		}
		hostname = pod.Spec.Hostname
	}
	if hostname, err = cutHostname(hostname); err != nil {
		return "", "", err
	}
	if sub := pod.Spec.Subdomain; sub != "" {
		if msgs := validation.IsDNS1123Label(sub); len(msgs) > 0 {
			return "", "", invalidName("spec.subdomain", sub, msgs)
		}
		domain = fmt.Sprintf("%s.%s.svc.%s", sub, pod.Namespace, clusterDomain)
	}
	return hostname, domain, nil
}

// kernelHostname returns the name that uname reports inside the pod.
//
// Upstream: pkg/kubelet/util/util.go, GetNodenameForKernel.
func kernelHostname(pod *v1.Pod, clusterDomain string) (string, error) {
	hostname, domain, err := Hostname(pod, clusterDomain)
	if err != nil || domain == "" || pod.Spec.SetHostnameAsFQDN == nil || !*pod.Spec.SetHostnameAsFQDN {
		return hostname, err
	}
	fqdn := hostname + "." + domain
	if len(fqdn) > fqdnMax {
		return "", &Error{Reason: ReasonSandbox, Field: "spec.setHostnameAsFQDN", Says: fmt.Sprintf(
			"failed to construct FQDN from pod hostname and cluster domain, FQDN %s is too long (%d characters is the max, %d characters requested)", fqdn, fqdnMax, len(fqdn))}
	}
	return fqdn, nil
}

func cutHostname(name string) (string, error) {
	if len(name) > hostnameMax {
		name = strings.TrimRight(name[:hostnameMax], "-.")
	}
	if name == "" {
		return "", sandboxError("metadata.name", errors.New("it cannot be converted to a valid host name"))
	}
	return name, nil
}

func invalidName(field, value string, msgs []string) error {
	return sandboxError(field, fmt.Errorf("%q: %s", value, strings.Join(msgs, "; ")))
}
