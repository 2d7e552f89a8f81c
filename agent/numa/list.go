package numa

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/utils/cpuset"
)

// maxCPU is more than the number of CPUs of any kernel.
const maxCPU = 1 << 16

// ParseList parses a list of numbers in the kernel's format, such as 0-3,8. "" is the empty set.
func ParseList(text string) (cpuset.CPUSet, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return cpuset.New(), nil
	}
	for part := range strings.SplitSeq(text, ",") {
		first, last, ranged := strings.Cut(part, "-")
		lo, err := strconv.ParseUint(first, 10, 32)
		hi := lo
		if err == nil && ranged {
			hi, err = strconv.ParseUint(last, 10, 32)
		}
		if err != nil || hi < lo || hi >= maxCPU {
			return cpuset.New(), fmt.Errorf("%q is not a list of CPUs such as 0-3,8", text)
		}
	}
	return cpuset.Parse(text)
}
