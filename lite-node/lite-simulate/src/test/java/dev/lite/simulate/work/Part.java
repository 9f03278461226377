package dev.lite.simulate.work;

import dev.lite.simulate.tier.Mix;
import dev.lite.tier.node.LiteNode;

/** A part of the workload with its own checks. Nothing of it is interrupted but where it calls the tier. */
interface Part {
    /** How often a step is one of this part in a history that is directed at something. */
    int weight(Mix mix);

    /** Before the applications: what they share. Called on a thread of the first node; repeated until it succeeds. */
    default void prepare(App first) {}

    /** A process of a node runs: what it serves. */
    default void started(LiteNode node) {}

    /** One step of an application. */
    void step(App app);

    /** No faults any more and the cluster is whole: what must hold now. Breaks a rule if not. */
    default void settle(App any) {}

    /** Gives back what is left, so that nothing may be allocated afterwards. */
    default void cleanUp(App any) {}
}
