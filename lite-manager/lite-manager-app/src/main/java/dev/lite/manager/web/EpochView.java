package dev.lite.manager.web;

import dev.lite.cluster.Epoch;
import java.util.List;

/**
 * The membership as the leading manager numbered it.
 *
 * @param number 0 before there was any; grows by 1 with each change of the membership
 * @param members the live nodes when it was made
 * @param removals who was removed; what it had is given to others once it is fenced
 */
record EpochView(long number, List<Epoch.Member> members, List<Epoch.Removal> removals) {

    static EpochView of(Epoch epoch) {
        return new EpochView(epoch.number(), epoch.members(), epoch.removals());
    }
}
