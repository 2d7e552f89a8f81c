package criconfig

import (
	"errors"
	"strings"
)

// ResolvConf is a resolver configuration file.
type ResolvConf struct{ Nameservers, Searches, Options []string }

// ParseResolvConf reads a resolv.conf. Nameservers accumulate, the last search line wins, options
// replace earlier ones of the same name.
//
// Upstream: pkg/kubelet/network/dns/dns.go, parseResolvConf.
func ParseResolvConf(text []byte) (*ResolvConf, error) {
	var conf ResolvConf
	var opts options
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		switch fields[0] {
		case "nameserver":
			if len(fields) < 2 {
				return nil, errors.New("a nameserver line has no address")
			}
			conf.Nameservers = append(conf.Nameservers, fields[1])
		case "search":
			conf.Searches = nil
			for _, s := range fields[1:] {
				if s != "." {
					conf.Searches = append(conf.Searches, strings.TrimSuffix(s, "."))
				}
			}
		case "options":
			for _, o := range fields[1:] {
				opts.set(o)
			}
		}
	}
	conf.Options = opts.list
	return &conf, nil
}
