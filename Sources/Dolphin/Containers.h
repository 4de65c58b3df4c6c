#pragma once

#include <QElapsedTimer>
#include <QList>
#include <QString>

/// Which directories are in mounted containers, from the kernel's table of mounts: no mount is accessed, so none can make
/// the file manager wait. The same as dewpoint_desktop/mounts.py.
class Containers
{
public:
    /// Whether an absolute path is in a container; the root of one is.
    bool contain(const QString &path);

private:
    struct Mount {
        QString point;
        bool isContainer;
    };

    void read();

    QList<Mount> m_mounts;
    QElapsedTimer m_age;
};
