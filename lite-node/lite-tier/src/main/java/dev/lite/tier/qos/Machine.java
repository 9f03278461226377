package dev.lite.tier.qos;

/** What limits copies of mapped memory: the processors. Used by one thread at a time. */
interface Machine {
    /** How many there are. */
    int processors();

    /** Threads that run or wait for a processor, without the calling one; 0: not known. */
    int runnable();

    /** Operations on mapped memory that are under way in this process. */
    int underWay();

    /** Operations of high priority on mapped memory that are under way in this process. */
    int highUnderWay();
}
