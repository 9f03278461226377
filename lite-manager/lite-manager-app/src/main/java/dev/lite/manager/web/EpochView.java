package dev.lite.manager.web;

import dev.lite.cluster.Epoch;
import java.util.List;

/**
 * The cluster's epoch: a numbered version of its membership.
 *
 * @param number 0 before the first epoch; grows by 1 with each change of the membership
 * @param members the nodes live when it was made
 * @param removals the removed nodes; what they owned is given to others once they are fenced
 */
record EpochView(long number, List<Epoch.Member> members, List<Epoch.Removal> removals) {

    static EpochView of(Epoch epoch) {
        return new EpochView(epoch.number(), epoch.members(), epoch.removals());
    }
}
