package boundary_test

import (
	"fmt"

	"sakur4/boundary"
)

func ExampleResolve() {
	g := boundary.Geometry{Kind: boundary.Points, Points: []int{1024, 4096}}
	p := boundary.Resolve(g, 4224, 4608, boundary.DefaultSnapTolerance)
	fmt.Println(p.Verdict)
	fmt.Println(p.Reason)
	// Output:
	// snapped
	// snapped 128 tokens back onto a checkpoint at 4096; 512 of 4608 tokens prefilled
}

func ExampleCache() {
	c := boundary.NewCache(boundary.Profile{Geometry: boundary.Geometry{Kind: boundary.AnyToken}})
	c.Accept([]int32{1, 2, 3, 4}, nil, 0)

	prompt := []int32{1, 2, 3, 4, 5, 6}
	r := c.Predict(prompt, 0)
	fmt.Println("predicted:", r.Reused)

	c.Accept(prompt, nil, 0)
	fmt.Println("mismatch:", c.Observe(r.Reused, 0).Reason)
	// Output:
	// predicted: 4
	// mismatch: 0 of 4 predicted tokens reused: the slot was empty, taken by another request, or no rewind point was left
}
