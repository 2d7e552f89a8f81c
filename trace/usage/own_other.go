//go:build !unix

package usage

import "time"

func ownCPU() time.Duration { return 0 }
func ownRSS() int64         { return 0 }
