package dev.lite.cluster;

/** What the cases of {@link ClusterDirectoryContract} ask for, which alone implements it. */
interface DirectoryCases {
    /** Another session with the cluster of this test; it is closed after the test. */
    ClusterDirectory open();

    /** Starts a manager that leads, until {@link #stopKeepers} or the end of the test. */
    void keepEpochs();

    /** Stops every manager of {@link #keepEpochs}. */
    void stopKeepers();

    /** Makes the directory unreachable for every session. */
    void stopDirectory();

    /** Ends {@link #stopDirectory}. */
    void startDirectory();

    /** Ends the session as the directory does with one that was silent for too long. */
    void expire(ClusterDirectory session);
}
