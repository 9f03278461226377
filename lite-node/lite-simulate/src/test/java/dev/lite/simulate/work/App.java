package dev.lite.simulate.work;

import dev.lite.api.Lite;
import dev.lite.simulate.engine.SimulatedProcess;
import dev.lite.simulate.tier.Cluster;
import dev.lite.simulate.tier.Member;
import java.util.random.RandomGenerator;

/** One embedded application and its thread. */
final class App {
    final Cluster cluster;
    final Member member;
    final SimulatedProcess process;
    final Lite lite;
    final RandomGenerator random;

    App(Cluster cluster, Member member, Lite lite, RandomGenerator random) {
        this.cluster = cluster;
        this.member = member;
        this.process = member.process();
        this.lite = lite;
        this.random = random;
    }

    /** Another node's name, or this one's. */
    String anyNode() {
        return cluster.members().get(random.nextInt(cluster.members().size())).name();
    }

    void note(String what) {
        cluster.simulation().note(what);
    }
}
